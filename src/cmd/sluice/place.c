/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/trust.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"

#define LOCK_NAME "lock"

char *place_default(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/')
        return mem_printf("%s/sluice/default", state);
    if (!home || home[0] != '/') {
        const struct passwd *p = getpwuid(geteuid());
        home = p ? p->pw_dir : "/tmp";
    }
    return mem_printf("%s/.local/state/sluice/default", strcmp(home, "/") ? home : "");
}

char *place_real(const char *dir)
{
    char *real = realpath(dir, NULL);
    if (real)
        return real;
    const char *slash = strrchr(dir, '/');
    if (!slash || slash == dir)
        return mem_strdup(dir);
    _cleanup_free_ char *above = mem_strndup(dir, (size_t)(slash - dir));
    _cleanup_free_ char *above_real = place_real(above);
    return mem_printf("%s%s", above_real, slash);
}

char *place_path(const char *dir, const char *name)
{
    return mem_printf("%s/%s", dir, name);
}

char *place_program(const char *name)
{
    _cleanup_free_ char *prefix = path_prefix();
    return mem_printf("%s/sbin/%s", prefix ? prefix : "/usr/local", name);
}

bool place_has_cluster(const char *dir)
{
    _cleanup_free_ char *conf = place_path(dir, "slurm.conf");
    return access(conf, F_OK) == 0;
}

int place_load(const char *dir, struct conf **conf, struct conf_report *report, struct err *err)
{
    _cleanup_free_ char *path = place_path(dir, "slurm.conf");
    return conf_load(path, CONF_FULL, NULL, conf, report, err);
}

bool place_expects(const struct conf *conf, const struct conf_node *n)
{
    enum conf_node_state state = conf->node_rows.data[n->row].state;
    return state != CONF_NODE_FUTURE && state != CONF_NODE_CLOUD;
}

size_t place_count(const struct conf *conf)
{
    size_t count = 0;
    vec_foreach (&conf->nodes, n)
        count += place_expects(conf, n);
    return count;
}

static int check_own(const char *dir, struct err *err)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return err_set(err, -errno, "%s: %s", dir, strerror(errno));
    if (st.st_uid != geteuid())
        return err_set(err, -ERR_ACCESS,
                       "%s belongs to uid %u, not to you (uid %u), and would make the cluster "
                       "theirs: give another --dir, or run: chown %u %s",
                       dir, (unsigned)st.st_uid, (unsigned)geteuid(), (unsigned)geteuid(), dir);
    if (st.st_mode & 022)
        return err_set(err, -ERR_ACCESS,
                       "%s has mode %04o: others may write there, and could make the cluster "
                       "theirs: give another --dir, or run: chmod go-w %s",
                       dir, (unsigned)st.st_mode & 07777, dir);
    return 0;
}

int place_check(const char *dir, const char *made_from, struct err *err)
{
    int rc = made_from ? 0 : check_own(dir, err);
    if (rc || geteuid() != 0)
        return rc;
    if (!made_from)
        return trust_check(dir, NULL, 0, err);
    const char *slash = strrchr(made_from, '/');
    _cleanup_free_ char *inside = mem_printf("%.*s/.", (int)(slash - made_from), made_from);
    return trust_check(inside, NULL, 0, err);
}

int place_check_seen(const char *dir, struct err *err)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return err_set(err, -errno, "%s: %s", dir, strerror(errno));
    if (geteuid() == 0 || st.st_uid == geteuid())
        return 0;
    return err_set(err, -ERR_ACCESS,
                   "the cluster in %s is of uid %u: only that user and root see its daemons", dir,
                   (unsigned)st.st_uid);
}

/* Only the owner can open this file. A lock on the directory itself could be held by anyone who can
 * read the directory. */
static int lock_open(const char *dir, int flags)
{
    _cleanup_free_ char *path = place_path(dir, LOCK_NAME);
    return open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags, 0600);
}

int place_lock(const char *dir, struct err *err)
{
    struct stat st, place;
    int rc = place_check_seen(dir, err);
    if (rc)
        return rc;
    int fd = lock_open(dir, O_CREAT | O_EXCL);
    /* Root works in another user's directory: that user must be able to lock it next. */
    if (fd >= 0 && stat(dir, &place) == 0 && place.st_uid != geteuid() &&
        fchown(fd, place.st_uid, (gid_t)-1))
        cmd_error("%s/" LOCK_NAME ": %s", dir, strerror(errno));
    if (fd < 0 && errno == EEXIST)
        fd = lock_open(dir, 0);
    if (fd < 0)
        return err_set(err, -errno, "%s/" LOCK_NAME ": %s", dir, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st) || st.st_nlink == 0) {
        close(fd);
        return err_set(err, -ERR_BUSY,
                       "another sluice command is at work in %s; try again when it "
                       "has ended",
                       dir);
    }
    return fd;
}

void place_lock_remove(const char *dir)
{
    _cleanup_free_ char *path = place_path(dir, LOCK_NAME);
    unlink(path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    if (remove(path)) {
        /* A file that cannot be removed stays visible in the directory. */
    }
    return 0;
}

char *place_first_missing(const char *dir)
{
    _cleanup_free_ char *path = mem_strdup(dir);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (access(path, F_OK))
            return take_ptr(path);
        *slash = '/';
    }
    return access(path, F_OK) ? take_ptr(path) : NULL;
}

void place_remove(const char *dir, const char *made_from)
{
    static const char *const names[] = {"slurm.conf", "slurm.key", "log",    "run",
                                        "spool",      "state",     LOCK_NAME};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_free_ char *path = place_path(dir, names[i]);
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    /* A directory to which somebody has added a file is kept, and ends the loop. */
    _cleanup_free_ char *path = mem_strdup(dir);
    while (made_from && str_starts(path, made_from) && rmdir(path) == 0)
        *strrchr(path, '/') = '\0';
}
