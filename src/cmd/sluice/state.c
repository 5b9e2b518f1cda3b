/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sluice/state.h"
#include "cmd/sluice/state_line.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"

static int report_failure(const struct err *err)
{
    cmd_error("%s", err->text);
    return 1;
}

/* --- users ---------------------------------------------------------------------------------------
 */

/* Only SlurmUser may access the state: it has scripts and environments of all users. */
static int check_user(const struct conf *conf, struct err *err)
{
    if (geteuid() == 0 || geteuid() == conf->slurm_uid)
        return 0;
    return err_set(err, -ERR_ACCESS, "the state of cluster %s is for SlurmUser (%s) and root only",
                   conf->cluster_name, conf->slurm_user);
}

/* If root creates the controller's directory, SlurmUser becomes its owner. */
static int make_directory(const struct conf *conf, struct err *err)
{
    const char *dir = conf->state_save_location;
    struct stat st;
    if (conf->state_save_store || stat(dir, &st) == 0)
        return 0;
    int rc = path_mkdirs(dir, 0700, err);
    if (rc == 0 && geteuid() == 0 && chown(dir, conf->slurm_uid, (gid_t)-1))
        rc = err_set(err, -errno, "%s: cannot give it to SlurmUser: %s", dir, strerror(errno));
    return rc;
}

static int become_user(const struct conf *conf, struct err *err)
{
    if (geteuid() != 0 || conf->slurm_uid == 0)
        return 0;
    const struct passwd *p = getpwuid(conf->slurm_uid);
    if (!p)
        return err_set(err, -ERR_USER, "SlurmUser: no account has the uid %u", conf->slurm_uid);
    gid_t gid = p->pw_gid;
    uid_t uids[3] = {0};
    if (initgroups(p->pw_name, gid) || setresgid(gid, gid, gid) ||
        setresuid(conf->slurm_uid, conf->slurm_uid, conf->slurm_uid) ||
        getresuid(&uids[0], &uids[1], &uids[2]))
        return err_set(err, -errno, "cannot become SlurmUser %s: %s", conf->slurm_user,
                       strerror(errno));
    for (int i = 0; i < 3; i++)
        if (uids[i] != conf->slurm_uid)
            return err_set(err, -EPERM, "cannot become SlurmUser %s", conf->slurm_user);
    return 0;
}

static struct store_where make_store_where(const struct conf *conf)
{
    const char *shared = conf->state_save_store;
    return (struct store_where){.at = shared ? shared : conf->state_save_location,
                                .cluster = conf->cluster_name};
}

/* --- export ------------------------------------------------------------------------------------
 */

/* Opens the leftover of an export that failed after root had become SlurmUser: an empty file of
 * this user. */
static int create_empty_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
        st.st_uid == geteuid() && st.st_nlink == 1 && fchmod(fd, 0600) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = EEXIST;
    return -1;
}

/* An existing file belongs to somebody else or is an older export: it is kept. */
static FILE *output_open(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0 && errno == EEXIST)
        fd = create_empty_file(path);
    if (fd < 0) {
        err_set(err, -errno, "%s: %s%s", path, strerror(errno),
                errno == EEXIST ? ": it is not overwritten" : "");
        return NULL;
    }
    return fdopen(fd, "w");
}

static void warn_if_readable(void)
{
    struct stat st;
    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 077)
        cmd_say("warning: others may read this file, and users' scripts and environments are in "
                "it: 'sluice state export FILE' makes one that they may not");
}

static int export_to(const struct conf *conf, FILE *out, struct state_count *count, struct err *err)
{
    struct store_where where = make_store_where(conf);
    struct store *s = NULL;
    int rc = become_user(conf, err);
    if (rc == 0)
        rc = store_open(&where, STORE_EXISTING, NULL, NULL, &s, err);
    if (rc == 0) {
        rc = state_export(s, conf->cluster_name, out, count, err);
        store_close(s);
    }
    return rc;
}

static int export_state(const struct conf *conf, const char *path)
{
    struct err err = {0};
    struct state_count count = {0};
    bool to_file = path && !str_eq(path, "-");
    FILE *out = to_file ? output_open(path, &err) : stdout;
    if (!out)
        return report_failure(&err);
    if (!to_file)
        warn_if_readable();
    int rc = export_to(conf, out, &count, &err);
    if (rc == 0 && to_file && fsync(fileno(out)))
        rc = err_set(&err, -errno, "%s: %s", path, strerror(errno));
    if (rc && to_file && unlink(path) && ftruncate(fileno(out), 0))
        cmd_error("%s: it is not whole, and cannot be removed: %s", path, strerror(errno));
    if (to_file)
        fclose(out);
    if (rc)
        return report_failure(&err);
    if (to_file)
        cmd_say("%llu records, %llu set aside, written to %s", (unsigned long long)count.records,
                (unsigned long long)count.asides, path);
    return 0;
}

/* --- import ------------------------------------------------------------------------------------
 */

static const char *name_input(const char *path)
{
    return str_eq(path, "-") ? "standard input" : path;
}

/* The input is read twice, so it must be a file. An input that does not start like a saved state is
 * rejected before it is copied: a device may never end. */
static FILE *input_copy(FILE *from, const char *name, struct err *err)
{
    char buffer[1 << 16];
    size_t n = fread(buffer, 1, sizeof(STATE_LINES_BEGIN) - 1, from);
    if (memcmp(buffer, STATE_LINES_BEGIN, n) != 0) {
        err_set(err, -ERR_PARSE,
                "%s: nothing was imported: line 1: a saved state begins with %s...}", name,
                STATE_LINES_BEGIN);
        return NULL;
    }
    FILE *copy = tmpfile();
    for (; copy && n > 0; n = fread(buffer, 1, sizeof(buffer), from))
        if (fwrite(buffer, 1, n, copy) != n)
            break;
    if (copy && !ferror(from) && !fflush(copy) && !ferror(copy))
        return copy;
    err_set(err, -errno, "cannot keep what is read: %s", strerror(errno));
    if (copy)
        fclose(copy);
    return NULL;
}

static FILE *input_open(const char *path, struct err *err)
{
    bool given = !str_eq(path, "-");
    FILE *in = given ? fopen(path, "re") : stdin;
    if (!in) {
        err_set(err, -errno, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct stat st;
    if (fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode))
        return in;
    FILE *copy = input_copy(in, name_input(path), err);
    if (given)
        fclose(in);
    return copy;
}

/* Rejects a store that has a state before the lead is taken: the lead of a database may belong to a
 * running controller. */
static int check_source(const struct store_where *where, struct err *err)
{
    struct store *s = NULL;
    int rc = store_open(where, 0, NULL, NULL, &s, err);
    if (rc == 0) {
        rc = state_check_empty(s, err);
        store_close(s);
    }
    return rc;
}

static int import_from(const struct conf *conf, FILE *in, struct state_count *count,
                       struct err *err)
{
    struct store_where where = make_store_where(conf);
    struct store *s = NULL;
    int rc = make_directory(conf, err);
    if (rc == 0)
        rc = become_user(conf, err);
    if (rc == 0)
        rc = check_source(&where, err);
    if (rc == 0)
        rc = store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, err);
    if (rc)
        return rc;
    rc = state_check_empty(s, err);
    if (rc == 0) {
        rc = state_import(in, s, count, err);
        if (rc)
            err_prefix(err, "what is in %s now is not whole, move it away", store_name(s));
    }
    store_close(s);
    return rc;
}

static int import_state(const struct conf *conf, const char *path, bool edited)
{
    struct err err = {0};
    struct state_count count = {0};
    FILE *in = input_open(path, &err);
    if (!in)
        return report_failure(&err);
    int rc = state_check(in, conf->cluster_name, edited, &err);
    if (rc)
        err_prefix(&err, "%s: nothing was imported", name_input(path));
    else
        rc = import_from(conf, in, &count, &err);
    if (in != stdin)
        fclose(in);
    if (rc)
        return report_failure(&err);
    cmd_say("%llu records, %llu set aside, imported", (unsigned long long)count.records,
            (unsigned long long)count.asides);
    return 0;
}

int sluice_state(const struct sluice_options *o, const char *const *operand)
{
    const char *what = operand[0], *path = operand[1];
    struct err err = {0};
    bool out = str_eq(what, "export"), in = str_eq(what, "import");
    if (!out && !in) {
        cmd_error("state: export or import; see sluice --help");
        return 1;
    }
    if (in && !path) {
        cmd_error("state import: which file? '-' is standard input");
        return 1;
    }
    sluice_choose(o);
    const struct conf *conf = cmd_conf();
    if (check_user(conf, &err))
        return report_failure(&err);
    return out ? export_state(conf, path) : import_state(conf, path, o->edited);
}
