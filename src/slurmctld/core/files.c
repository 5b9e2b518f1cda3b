/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/files.h"
#include "slurmctld/core/job_comp.h"

#define LOW 1024
#define BIND (1u << CAP_NET_BIND_SERVICE)

static int fail_lowport(struct err *err, int e)
{
    return err_set(err, -e, "the right to listen on a port below %d cannot be kept: %s", LOW,
                   strerror(e));
}

/* Called before and after the process becomes SlurmUser; afterwards all other capabilities are
 * dropped. No effect if no such port is configured. */
static int keep_lowport(const struct conf *conf, struct err *err)
{
    if (conf->slurmctld_port >= LOW || !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
        return 0;
    return fail_lowport(err, errno);
}

static int hold_lowport(const struct conf *conf, struct err *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{.effective = BIND, .permitted = BIND}};
    if (conf->slurmctld_port >= LOW || !syscall(SYS_capset, &head, data))
        return 0;
    return fail_lowport(err, errno);
}

void files_hand_on_lowport(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (geteuid() == 0 || syscall(SYS_capget, &head, data) || !(data[0].permitted & BIND))
        return;
    data[0].inheritable |= BIND;
    /* Otherwise the new process reports that it cannot listen. */
    if (!syscall(SYS_capset, &head, data))
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0);
}

static void drop_inherited_lowport(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &head, data) || !(data[0].inheritable & BIND))
        return;
    data[0].inheritable &= ~BIND; /* dropping capabilities is always allowed */
    syscall(SYS_capset, &head, data);
}

static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

static int user_entry(const struct conf *conf, struct passwd *entry, char *buffer, size_t room,
                      struct err *err)
{
    struct passwd *found = NULL;
    if (getpwuid_r(conf->slurm_uid, entry, buffer, room, &found) || !found)
        return err_set(err, -ERR_USER, "SlurmUser: no account has the uid %u", conf->slurm_uid);
    return 0;
}

/* Creates a directory that SlurmUser can write to; an existing one keeps its owner. The directory
 * appears with its final owner, because another controller that starts meanwhile could not write
 * to it otherwise. */
static int directory_prepare(const char *path, mode_t mode, uid_t uid, gid_t gid, struct err *err)
{
    size_t len = strlen(path);
    struct stat st;
    while (len > 1 && path[len - 1] == '/')
        len--;
    _cleanup_free_ char *made = mem_printf("%.*s.%d", (int)len, path, (int)getpid());
    if (!stat(path, &st))
        return 0;
    int rc = path_mkdirs(made, mode, err);
    if (rc)
        return rc;
    _cleanup_close_ int fd = open(made, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || st.st_uid != geteuid())
        rc = err_set(err, -EPERM, "%s: cannot make it: %s is another user's", path, made);
    else if (fchown(fd, uid, gid))
        rc = err_set(err, -errno, "%s: cannot give it to SlurmUser: %s", path, strerror(errno));
    else if (rename(made, path) && errno != EEXIST && errno != ENOTEMPTY)
        rc = err_set(err, -errno, "%s: cannot make it: %s", path, strerror(errno));
    rmdir(made); /* left if rename() failed, or if another process was faster */
    return rc;
}

/* Creates an empty file owned by SlurmUser, unless it exists. */
static void file_prepare(const char *path, uid_t uid, gid_t gid)
{
    _cleanup_close_ int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd >= 0 && fchown(fd, uid, gid))
        (void)unlink(path);
}

int files_prepare(const struct conf *conf, const char *log_file, struct err *err)
{
    if (geteuid() != 0) {
        if (geteuid() == conf->slurm_uid)
            return 0;
        return err_set(err, -ERR_USER,
                       "SlurmUser is %s, but this is uid %u: start slurmctld as root%s%s, or write "
                       "your own name as SlurmUser in %s",
                       conf->slurm_user, geteuid(), conf->slurm_uid ? " or as " : "",
                       conf->slurm_uid ? conf->slurm_user : "", conf->path);
    }
    if (conf->slurm_uid == 0)
        return 0;
    struct passwd user;
    char buffer[4096];
    int rc = user_entry(conf, &user, buffer, sizeof(buffer), err);
    if (rc == 0)
        rc = directory_prepare(conf->state_save_location, 0700, user.pw_uid, user.pw_gid, err);
    if (rc == 0)
        rc = directory_prepare(conf->socket_dirs[0], 0755, user.pw_uid, user.pw_gid, err);
    if (!log_file)
        log_file = conf->slurmctld_log_file;
    if (rc == 0 && log_file)
        file_prepare(log_file, user.pw_uid, user.pw_gid);
    if (rc == 0 && job_comp_path(conf))
        file_prepare(job_comp_path(conf), user.pw_uid, user.pw_gid);
    if (rc == 0 && conf->slurm_sched_log_file)
        file_prepare(conf->slurm_sched_log_file, user.pw_uid, user.pw_gid);
    return rc;
}

int files_become_user(const struct conf *conf, struct err *err)
{
    drop_inherited_lowport();
    if (geteuid() != 0 || conf->slurm_uid == 0)
        return 0;
    struct passwd user;
    char buffer[4096];
    int rc = user_entry(conf, &user, buffer, sizeof(buffer), err);
    rc = rc ? rc : keep_lowport(conf, err);
    if (rc)
        return rc;
    uid_t uids[3] = {0};
    gid_t gids[3] = {0};
    if (initgroups(user.pw_name, user.pw_gid) || setresgid(user.pw_gid, user.pw_gid, user.pw_gid) ||
        setresuid(user.pw_uid, user.pw_uid, user.pw_uid) ||
        getresuid(&uids[0], &uids[1], &uids[2]) || getresgid(&gids[0], &gids[1], &gids[2]))
        return err_set(err, -errno, "cannot become SlurmUser %s: %s", user.pw_name,
                       strerror(errno));
    for (int i = 0; i < 3; i++)
        if (uids[i] != user.pw_uid || gids[i] != user.pw_gid)
            return err_set(err, -EPERM, "cannot become SlurmUser %s", user.pw_name);
    return hold_lowport(conf, err);
}

static int state_directory_open(const struct conf *conf, struct err *err)
{
    const char *path = conf->state_save_location;
    int rc = path_mkdirs(path, 0700, NULL);
    if (rc)
        return err_set(err, rc,
                       "cannot create StateSaveLocation '%s' (%s): create the directory and run "
                       "'chown %s %s', or start slurmctld as root once",
                       path, err_text(rc), conf->slurm_user, path);
    if (conf->slurm_uid == geteuid() && access(path, R_OK | W_OK | X_OK))
        return err_set(err, -errno,
                       "StateSaveLocation '%s' is not writable for SlurmUser %s: run 'chown %s %s'",
                       path, conf->slurm_user, conf->slurm_user, path);
    return 0;
}

static int read_jwt_key(const struct conf *conf, struct auth_jwt_key *key, struct err *err)
{
    const char *path = conf->auth_alt.jwt_key_path;
    int rc;
    if (access(path, F_OK) && errno == ENOENT)
        return err_set(err, -ERR_CONFIG,
                       "AuthAltTypes=auth/jwt: key file '%s' is missing: run '" AUTH_KEY_COMMAND
                       "', 'chown %s %s' and 'chmod 0600 %s'",
                       path, path, conf->slurm_user, path, path);
    rc = auth_jwt_key_load(path, conf->slurm_uid, key, err);
    if (rc)
        return err_prefix(err, "AuthAltTypes=auth/jwt");
    return conf_trust_path(conf, "AuthAltParameters=jwt_key", path, err);
}

int files_check_jwt_key(const struct conf *conf, struct err *err)
{
    struct auth_jwt_key key = {0};
    int rc = conf->auth_alt.jwt ? read_jwt_key(conf, &key, err) : 0;
    auth_jwt_key_done(&key);
    return rc;
}

static int load_jwt_key(struct ctld *c, const struct conf *conf, struct err *err)
{
    int rc = read_jwt_key(conf, &c->jwt_key, err);
    c->has_jwt_key = rc == 0;
    return rc;
}

/* A missing cluster key is created if this process may write to the directory of the
 * configuration, so that a cluster of one host needs only slurm.conf. */
int files_load_keys(struct ctld *c, const struct conf *conf, struct err *err)
{
    _cleanup_free_ char *dir = dir_of(conf->path);
    _cleanup_free_ char *path = mem_printf("%s/slurm.key", dir);
    if (access(path, F_OK) && errno == ENOENT) {
        struct err why = {0};
        int rc = auth_key_create(path, conf->slurm_uid, (gid_t)-1, &why);
        if (rc && rc != -EEXIST)
            return err_set(
                err, rc,
                "cluster key '%s' is missing and cannot be created (%s): run '" AUTH_KEY_COMMAND
                "', 'chown %s %s' and 'chmod 0600 %s', and copy "
                "the key to every host of the cluster",
                path, err_text(rc), path, conf->slurm_user, path, path);
        if (rc == 0)
            log_info("created the cluster key '%s': copy it to every host of the cluster", path);
    }
    int rc = auth_key_load(path, conf->slurm_uid, &c->key, err);
    if (rc)
        return rc;
    rc = state_directory_open(conf, err);
    if (rc)
        return rc;
    rc = conf_trust_path(conf, "StateSaveLocation", conf->state_save_location, err);
    return rc == 0 && conf->auth_alt.jwt ? load_jwt_key(c, conf, err) : rc;
}

/* With -c a new key is made: it tells the nodes that the cluster has started anew, so that job ids
 * and epochs they remember belong to another state. The store must be locked. */
int files_load_signer(struct ctld *c, const char *dir, uid_t owner, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/cred.key", dir);
    if (c->options->clean && unlink(path) && errno != ENOENT)
        return err_set(err, -errno, "cannot remove %s: %s", path, strerror(errno));
    return auth_signer_load(path, owner, &c->signer, err);
}

int files_check_again(const struct conf *conf, struct err *err)
{
    _cleanup_free_ char *dir = dir_of(conf->path);
    _cleanup_free_ char *key = mem_printf("%s/slurm.key", dir);
    const char *const files[] = {key, conf->path,
                                 conf->auth_alt.jwt ? conf->auth_alt.jwt_key_path : NULL};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (files[i] && access(files[i], R_OK))
            return err_set(
                err, -errno,
                "%s: %s: with several SlurmctldHost lines SlurmUser must be able to read "
                "it, since a controller that stops leading begins anew as %s",
                files[i], strerror(errno), conf->slurm_user);
    return 0;
}

char *files_pid_path(const struct conf *conf, const struct conf_host *me)
{
    const char *path = conf->slurmctld_pid_file;
    size_t len = strlen(path);
    if (me->rank == 0)
        return mem_strdup(path);
    if (len > 4 && str_eq(path + len - 4, ".pid"))
        return mem_printf("%.*s-%s.pid", (int)(len - 4), path, me->name);
    return mem_printf("%s-%s", path, me->name);
}

int files_pid_open(const struct conf *conf, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0644);
    if (fd < 0) {
        log_error(
            "cannot write SlurmctldPidFile '%s': %s: going on without it; set SlurmctldPidFile "
            "to a file in a directory of SlurmUser",
            path, strerror(errno));
        return -1;
    }
    if (geteuid() == 0 && fchown(fd, conf->slurm_uid, (gid_t)-1))
        log_error("SlurmctldPidFile %s: %s", path, strerror(errno));
    return fd;
}

void files_pid_write(int fd)
{
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB))
        log_error("SlurmctldPidFile belongs to another controller that runs; it is left alone");
    else if (ftruncate(fd, 0) || dprintf(fd, "%ld\n", (long)getpid()) < 0)
        log_error("SlurmctldPidFile: %s", strerror(errno));
}

void files_pid_remove(int fd, const char *path)
{
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
        return;
    if (unlink(path) && ftruncate(fd, 0))
        log_error("SlurmctldPidFile %s: %s", path, strerror(errno));
    close(fd);
}

static void open_sched_log(const struct conf *conf)
{
    int rc = log_open_sched(conf->slurm_sched_log_file);
    if (rc)
        log_error("cannot open SlurmSchedLogFile '%s': %s: %s; create its directory, writable for "
                  "SlurmUser %s, or set another file",
                  conf->slurm_sched_log_file, strerror(-rc),
                  log_has_sched() ? "scheduler logging goes to the former file"
                                  : "there is no scheduler log",
                  conf->slurm_user);
}

static void open_main_log(struct ctld *c, const struct conf *conf, bool starting)
{
    const struct ctld_options *o = c->options;
    const char *file = o->log_file ? o->log_file : conf->slurmctld_log_file;
    unsigned level = c->debug_given ? c->debug : conf->slurmctld_debug + o->verbose;
    if (level > LOG_LVL_DEBUG3)
        level = LOG_LVL_DEBUG3;
    struct log_options options = {
        .program = "slurmctld",
        .file = file,
        .file_level = (enum log_level)level,
        .time = log_parse_time(conf->log_time_format),
        /* Errors go to the terminal until the daemon detaches from it. */
        .stderr_level = o->foreground ? (enum log_level)level
                        : starting    ? (o->verbose ? (enum log_level)level : LOG_LVL_ERROR)
                                      : LOG_LVL_QUIET,
        .syslog_level = log_syslog_level(conf->slurmctld_syslog_debug, file, o->foreground,
                                         (enum log_level)level),
    };
    int rc = log_open(&options);
    if (rc == 0)
        return;
    options.file = NULL;
    options.syslog_level =
        log_syslog_level(conf->slurmctld_syslog_debug, false, o->foreground, (enum log_level)level);
    if (starting)
        log_open(&options);
    log_error(
        "cannot open %s '%s': %s: logging to %s; create its directory, writable for SlurmUser "
        "%s, or set another file",
        o->log_file ? "the log file" : "SlurmctldLogFile", file, strerror(-rc),
        !starting       ? "the former file"
        : o->foreground ? "standard error"
                        : "syslog",
        conf->slurm_user);
}

void files_open_log(struct ctld *c, const struct conf *conf, bool starting)
{
    open_main_log(c, conf, starting);
    open_sched_log(conf);
}

void files_log_resources(const struct conf *conf)
{
    _cleanup_str_ struct str text = STR_INIT;
    conf_summarise(conf, &text);
    if (text.len)
        log_info("%s", str_cstr(&text));
}

void files_reopen_log(struct ctld *c)
{
    struct conf_report report = {0};
    struct err err = {0};
    struct conf *fresh = NULL;
    if (conf_load(c->conf_path, CONF_CLIENT, NULL, &fresh, &report, &err) < 0) {
        log_error("SIGUSR2: the log level stays as it is: %s", err.text);
    } else {
        c->debug_given = true;
        c->debug = fresh->slurmctld_debug + c->options->verbose;
        if (c->debug > LOG_LVL_DEBUG3)
            c->debug = LOG_LVL_DEBUG3;
    }
    files_open_log(c, ctld_conf(c), false);
    conf_free(fresh);
    conf_report_done(&report);
}
