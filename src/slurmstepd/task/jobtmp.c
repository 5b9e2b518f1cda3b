/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/jobtmp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/envlist.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "slurmstepd/task/wipe.h"

#define NS ".ns"
#define IN_MEMORY "/dev/shm"
#define INIT_SCRIPT_SEC 3600
#define PATH "/usr/sbin:/usr/bin:/sbin:/bin"

/* Runs a script of the site as root, with the job's description. Returns -ERR_NODE_FAULT. */
static int run_site_script(const Pb__StepTmp *m, const char *key, const char *path,
                           unsigned limit_sec, const char *dir, struct err *err);

/* The process that creates the namespace reports twice: when it is in the namespace, and when
 * everything is mounted. The answer is to continue, or to create another namespace first. */
enum { GO_ON = 'g', AGAIN = 'a' };
struct made {
    int32_t code;
    char text[ERR_TEXT_MAX];
};

static bool is_namespace(int fd)
{
    return ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNS;
}

static bool is_at(int dir_fd, const char *dir)
{
    struct stat held, there;

    return !fstat(dir_fd, &held) && !lstat(dir, &there) && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

/* Locks the directory against other processes that create or remove it, until the descriptor is
   closed. */
static int lock_dir(const char *dir, struct err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, -errno, "%s: %s", dir, strerror(errno));
    while (flock(fd, LOCK_EX))
        if (errno != EINTR) {
            err_set(err, -errno, "%s cannot be locked: %s", dir, strerror(errno));
            close(fd);
            return err->code;
        }
    if (is_at(fd, dir))
        return fd;
    close(fd);
    return err_set(err, -ENOENT, "%s has been removed", dir);
}

static int find_namespace(int dir_fd)
{
    int fd = openat(dir_fd, NS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && !is_namespace(fd))
        close(take_fd(&fd));
    return fd;
}

/* --- in the process that creates the namespace ------------------------------------------------ */

/* Inside another mounted directory, the mount point has to be created first; no process of the
   user has run there yet. */
static int make_place(const Pb__StepTmp *m, const char *to, struct err *err)
{
    for (size_t i = 0; i < m->n_dirs; i++) {
        size_t len = strlen(m->dirs[i]);

        if (!strncmp(to, m->dirs[i], len) && to[len] == '/')
            return path_mkdirs(to, 0755, err);
    }
    return 0;
}

static int mount_one(const char *dir, const char *from, const char *to, struct err *err)
{
    _cleanup_free_ char *source = mem_printf("%s/%s", dir, from);

    if (str_eq(to, IN_MEMORY) ? mount("tmpfs", to, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
                              : mount(source, to, NULL, MS_BIND, NULL))
        return err_set(err, -errno, "%s cannot be mounted: %s", to, strerror(errno));
    return 0;
}

/* Mounts deeper directories later, so that none is mounted below a directory that is then
   hidden. */
static int mount_all(const char *dir, const Pb__StepTmp *m, struct err *err)
{
    size_t longest = 0;
    int rc = 0;

    for (size_t i = 0; i < m->n_dirs; i++)
        longest = strlen(m->dirs[i]) > longest ? strlen(m->dirs[i]) : longest;
    for (size_t len = 1; len <= longest && rc == 0; len++)
        for (size_t i = 0; i < m->n_dirs && rc == 0; i++) {
            char name[24];

            if (strlen(m->dirs[i]) != len)
                continue;
            snprintf(name, sizeof(name), "%zu", i);
            rc = make_place(m, m->dirs[i], err);
            if (rc == 0)
                rc = mount_one(dir, name, m->dirs[i], err);
        }
    return rc;
}

/* A file in one namespace can hold another one only if that has a higher number. Kernels from 6.18
 * on number namespaces per CPU; on the CPU where our namespace was created, numbers are higher. */
static void go_to_cpu(uint32_t cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static int make_namespace(const Pb__StepTmp *m, struct err *err)
{
    unsigned long how = m->has_shared && m->shared ? MS_SLAVE : MS_PRIVATE;

    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, how | MS_REC, NULL))
        return err_set(err, -errno, "cannot make a mount namespace: %s", strerror(errno));
    return 0;
}

static int make_inside(const Pb__StepTmp *m, const char *dir, struct err *err)
{
    int rc = mount_all(dir, m, err);

    if (rc == 0 && m->clone_script)
        rc = run_site_script(m, "CloneNSScript", m->clone_script, m->script_sec, dir, err);
    return rc;
}

/* Sends the result to the parent, and returns the parent's answer; 0 if the parent has closed the
   connection. */
static char send_result(int fd, int code, const struct err *err)
{
    struct made made = {.code = code};
    char byte;

    snprintf(made.text, sizeof(made.text), "%s", err->text);
    return path_write_all(fd, &made, sizeof(made)) || read(fd, &byte, 1) != 1 ? 0 : byte;
}

static _Noreturn void be_maker(const Pb__StepTmp *m, const char *dir, int fd)
{
    struct err err = {0};
    char answer = AGAIN;
    cpu_set_t before;

    sched_getaffinity(0, sizeof(before), &before);
    for (uint32_t cpu = 0; answer == AGAIN; cpu++) {
        answer = send_result(fd, make_namespace(m, &err), &err);
        if (answer == AGAIN)
            go_to_cpu(cpu);
    }
    sched_setaffinity(0, sizeof(before), &before);
    if (answer != GO_ON)
        _exit(1);
    _exit(send_result(fd, make_inside(m, dir, &err), &err) ? 0 : 1);
}

/* --- in the shepherd -------------------------------------------------------------------------- */

static int make_dirs(const Pb__StepTmp *m, int dir_fd, struct err *err)
{
    for (size_t i = 0; i < m->n_dirs; i++) {
        char name[24];

        snprintf(name, sizeof(name), "%zu", i);
        if (str_eq(m->dirs[i], IN_MEMORY))
            continue;
        if ((mkdirat(dir_fd, name, 0700) && errno != EEXIST) ||
            fchownat(dir_fd, name, m->uid, m->gid, AT_SYMLINK_NOFOLLOW))
            return err_set(err, -errno, "cannot make the directory for %s: %s", m->dirs[i],
                           strerror(errno));
    }
    return 0;
}

/* Creates a file that holds the namespace; the file of an earlier boot holds none. -EINVAL: see
   go_to_cpu(). */
static int hold_namespace(int dir_fd, const char *dir, pid_t maker, struct err *err)
{
    _cleanup_free_ char *from = mem_printf("/proc/%d/ns/mnt", (int)maker);
    _cleanup_free_ char *to = mem_printf("%s/" NS, dir);
    int fd;

    unlinkat(dir_fd, NS, 0);
    fd = openat(dir_fd, NS, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, -errno, "%s: %s", to, strerror(errno));
    close(fd);
    if (mount(from, to, NULL, MS_BIND, NULL))
        return err_set(err, -errno, "%s cannot hold the namespace: %s", to, strerror(errno));
    return 0;
}

static ssize_t read_all(int fd, void *data, size_t len)
{
    size_t have = 0;

    while (have < len) {
        ssize_t n = read(fd, (char *)data + have, len - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

static int read_made(int fd, struct err *err)
{
    struct made made = {0};

    if (read_all(fd, &made, sizeof(made)) != sizeof(made))
        return err_set(err, -ERR_NODE_FAULT, "the process that makes the namespace has died");
    made.text[sizeof(made.text) - 1] = '\0';
    return made.code ? err_set(err, made.code, "%s", made.text) : 0;
}

/* Repeats until the maker is in a namespace that a file can hold. */
static int await_namespace(int fd, int dir_fd, const char *dir, pid_t maker, struct err *err)
{
    _cleanup_free_ char *file = mem_printf("%s/" NS, dir);
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int rc = 0;

    cpus = cpus < CPU_SETSIZE ? cpus : CPU_SETSIZE;
    for (long tried = 0; tried <= cpus; tried++) {
        rc = read_made(fd, err);
        if (rc == 0)
            rc = hold_namespace(dir_fd, dir, maker, err);
        if (rc == 0)
            umount2(file, MNT_DETACH | UMOUNT_NOFOLLOW);
        if (rc != -EINVAL || tried == cpus)
            break;
        path_write_all(fd, &(char){AGAIN}, 1);
    }
    return rc == -EINVAL ? err_set(err, rc,
                                   "%s: start slurmd in the mount namespace of process 1: the "
                                   "kernel takes its own one for newer than those of jobs",
                                   err->text)
                         : rc;
}

static int run_with_maker(int fd, int dir_fd, const char *dir, pid_t maker, struct err *err)
{
    int rc = await_namespace(fd, dir_fd, dir, maker, err);

    if (rc)
        return rc;
    path_write_all(fd, &(char){GO_ON}, 1);
    rc = read_made(fd, err);
    if (rc == 0)
        rc = hold_namespace(dir_fd, dir, maker, err);
    path_write_all(fd, &(char){GO_ON}, 1);
    return rc;
}

static int make_private_dirs(const Pb__StepTmp *m, int dir_fd, const char *dir, struct err *err)
{
    int pair[2], rc = make_dirs(m, dir_fd, err);
    pid_t maker;

    if (rc == 0 && m->init_script)
        rc = run_site_script(m, "InitScript", m->init_script, INIT_SCRIPT_SEC, dir, err);
    if (rc)
        return rc;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_set(err, -errno, "cannot make a socket pair: %s", strerror(errno));
    maker = fork();
    if (maker == 0) {
        close(pair[0]);
        be_maker(m, dir, pair[1]);
    }
    close(pair[1]);
    rc = maker < 0 ? err_set(err, -errno, "cannot start another process: %s", strerror(errno))
                   : run_with_maker(pair[0], dir_fd, dir, maker, err);
    close(pair[0]);
    while (maker > 0 && waitpid(maker, NULL, 0) < 0 && errno == EINTR)
        ;
    return rc;
}

static int open_dir(const Pb__StepTmp *m, const char *dir, int *fd, struct err *err)
{
    _cleanup_close_ int dir_fd = -1;
    int rc = 0;

    do { /* an old directory of the job may be in removal */
        if (mkdir(dir, 0700) && errno != EEXIST)
            return err_set(err, -errno, "%s: %s", dir, strerror(errno));
        dir_fd = lock_dir(dir, err);
    } while (dir_fd == -ENOENT);
    if (dir_fd < 0)
        return dir_fd;
    *fd = find_namespace(dir_fd);
    if (*fd >= 0)
        return 0;
    rc = make_private_dirs(m, dir_fd, dir, err);
    if (rc == 0 && (*fd = find_namespace(dir_fd)) < 0)
        rc = err_set(err, -ERR_NODE_FAULT, "%s/" NS " is not a namespace", dir);
    return rc;
}

int jobtmp_open(const Pb__StepTmp *m, int *fd, struct err *err)
{
    _cleanup_free_ char *dir = NULL;

    *fd = -1;
    if (!m)
        return 0;
    dir = mem_printf("%s/%u", m->place, m->job_id);
    if (open_dir(m, dir, fd, err) == 0)
        return 0;
    err_prefix(err, "private directories of job %u", m->job_id);
    return -ERR_NODE_FAULT;
}

int jobtmp_enter(int fd, struct err *err)
{
    if (fd < 0 || setns(fd, CLONE_NEWNS) == 0)
        return 0;
    return err_set(err, -errno, "cannot enter the job's private directories: %s", strerror(errno));
}

/* --- scripts ---------------------------------------------------------------------------------- */

static int spawn_script(const char *path, char **env, pid_t *pid)
{
    char *const argv[] = {(char *)path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int rc;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    rc = posix_spawn(pid, path, &actions, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* Returns false on a timeout: the process was killed with its group. */
static bool await_maker(pid_t pid, unsigned limit_sec, int *status)
{
    if (child_await(pid, limit_sec * 1000, status))
        return true;
    kill(-pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return false;
}

static int run_script(const char *key, const char *path, unsigned limit_sec, char **env,
                      struct err *err)
{
    int status = 0, rc;
    pid_t pid;

    rc = spawn_script(path, env, &pid);
    if (rc)
        return err_set(err, -ERR_NODE_FAULT, "%s %s cannot be run: %s", key, path, strerror(rc));
    if (!await_maker(pid, limit_sec, &status))
        return err_set(err, -ERR_NODE_FAULT, "%s %s did not end within %u s", key, path, limit_sec);
    if (WIFSIGNALED(status))
        return err_set(err, -ERR_NODE_FAULT, "%s %s was ended by signal %d", key, path,
                       WTERMSIG(status));
    if (WEXITSTATUS(status))
        return err_set(err, -ERR_NODE_FAULT, "%s %s exited with status %d", key, path,
                       WEXITSTATUS(status));
    return 0;
}

static int run_site_script(const Pb__StepTmp *m, const char *key, const char *path,
                           unsigned limit_sec, const char *dir, struct err *err)
{
    struct envlist env = {0};
    int rc;

    envlist_set(&env, "PATH", PATH);
    envlist_setf(&env, "SLURM_JOB_ID", "%u", m->job_id);
    envlist_setf(&env, "SLURM_JOB_UID", "%u", m->uid);
    envlist_setf(&env, "SLURM_JOB_GID", "%u", m->gid);
    envlist_set(&env, "SLURM_JOB_USER", m->user_name);
    envlist_set(&env, "SLURM_CONF", m->conf_path);
    envlist_set(&env, "SLURM_CLUSTER_NAME", m->cluster);
    envlist_set(&env, "SLURMD_NODENAME", m->node);
    envlist_setf(&env, "SLURM_NS", "%s/.ns", dir);
    rc = run_script(key, path, limit_sec, envlist_argv(&env), err);
    envlist_done(&env);
    return rc;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Runs in a process inside the namespace; "SECONDS:PATH". */
static void run_epilog(int ns, const char *what)
{
    const char *path = what ? strchr(what, ':') : NULL;
    struct err err = {0};
    int status;
    pid_t pid;

    if (!path)
        return;
    pid = fork();
    if (pid == 0) {
        if (setns(ns, CLONE_NEWNS))
            err_set(&err, -errno, "cannot enter the namespace: %s", strerror(errno));
        else
            run_script("CloneNSEpilog", path + 1, (unsigned)strtoul(what, NULL, 10), environ, &err);
        if (err.code)
            fprintf(stderr, "slurmstepd: error: %s\n", err.text);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
}

int jobtmp_remove_main(const char *dir)
{
    _cleanup_free_ char *held = mem_printf("%s/.ns", dir);
    struct err err = {0};
    int dir_fd = lock_dir(dir, &err), ns;
    bool whole;

    if (dir_fd == -ENOENT)
        return 0;
    if (dir_fd < 0) {
        fprintf(stderr, "slurmstepd: error: %s\n", err.text);
        return 1;
    }
    ns = find_namespace(dir_fd);
    if (ns >= 0) {
        run_epilog(ns, getenv("CLONE_NS_EPILOG"));
        close(ns);
    }
    while (umount2(held, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        ;
    wipe_tree_whole(dir);
    whole = !is_at(dir_fd, dir); /* there may be a new directory by now */
    close(dir_fd);
    if (whole)
        return 0;
    fprintf(stderr, "slurmstepd: error: %s cannot be removed whole\n", dir);
    return 1;
}
