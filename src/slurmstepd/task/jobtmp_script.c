/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scripts of job_container.conf, and the removal of what they and the job have left. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "slurmstepd/step/envlist.h"
#include "slurmstepd/task/jobtmp.h"
#include "slurmstepd/task/jobtmp_priv.h"
#include "slurmstepd/task/wipe.h"

#define PATH "/usr/sbin:/usr/bin:/sbin:/bin"

/* --- scripts -----------------------------------------------------------------------------------
 */

static int spawn(const char *path, char **env, pid_t *pid)
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

/* False: its time was up, and it was killed with its group. */
static bool await(pid_t pid, unsigned limit_sec, int *status)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    bool late = p.fd >= 0 && poll(&p, 1, (int)limit_sec * 1000) == 0;

    if (late)
        kill(-pid, SIGKILL);
    if (p.fd >= 0)
        close(p.fd);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return !late;
}

int jobtmp_run(const char *key, const char *path, unsigned limit_sec, char **env, struct err *err)
{
    int status = 0, rc;
    pid_t pid;

    rc = spawn(path, env, &pid);
    if (rc)
        return err_set(err, -ERR_NODE_FAULT, "%s %s cannot be run: %s", key, path, strerror(rc));
    if (!await(pid, limit_sec, &status))
        return err_set(err, -ERR_NODE_FAULT, "%s %s did not end within %u s", key, path, limit_sec);
    if (WIFSIGNALED(status))
        return err_set(err, -ERR_NODE_FAULT, "%s %s was ended by signal %d", key, path,
                       WTERMSIG(status));
    if (WEXITSTATUS(status))
        return err_set(err, -ERR_NODE_FAULT, "%s %s exited with status %d", key, path,
                       WEXITSTATUS(status));
    return 0;
}

int jobtmp_script(const Pb__StepTmp *m, const char *key, const char *path, unsigned limit_sec,
                  const char *dir, struct err *err)
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
    rc = jobtmp_run(key, path, limit_sec, envlist_argv(&env), err);
    envlist_done(&env);
    return rc;
}

/* --- the end -----------------------------------------------------------------------------------
 */

/* Within the namespace, in a process of its own; "SECONDS:PATH". */
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
            jobtmp_run("CloneNSEpilog", path + 1, (unsigned)strtoul(what, NULL, 10), environ, &err);
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
    int dir_fd = jobtmp_lock(dir, &err), ns;
    bool whole;

    if (dir_fd == -ENOENT)
        return 0;
    if (dir_fd < 0) {
        fprintf(stderr, "slurmstepd: error: %s\n", err.text);
        return 1;
    }
    ns = jobtmp_find(dir_fd);
    if (ns >= 0) {
        run_epilog(ns, getenv("CLONE_NS_EPILOG"));
        close(ns);
    }
    while (umount2(held, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        ;
    wipe_tree_whole(dir);
    whole = !jobtmp_is_at(dir_fd, dir); /* there may be another by now */
    close(dir_fd);
    if (whole)
        return 0;
    fprintf(stderr, "slurmstepd: error: %s cannot be removed whole\n", dir);
    return 1;
}
