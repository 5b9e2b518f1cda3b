/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/script.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#define KILL_AFTER_MS 5000

struct run {
    struct script_job job;
    pid_t pid;
    struct loop_timer *timer;
    bool timed_out;
    int spawn_error;
    script_fn *done;
    void *ctx;
};

struct names {
    VEC(char *) list;
};

static void put(struct names *n, const char *name, const char *value)
{
    if (value)
        vec_push(&n->list, mem_printf("%s=%s", name, value));
}

static void put_number(struct names *n, const char *name, long long value)
{
    vec_push(&n->list, mem_printf("%s=%lld", name, value));
}

char **script_environment(const struct slurmd *d, const struct script_job *job)
{
    const Pb__Terminate *about = job->about;
    struct names n = {0};

    put(&n, "PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    put(&n, "SLURM_CONF", d->conf->path);
    put(&n, "SLURM_CLUSTER_NAME", d->conf->cluster_name);
    put(&n, "SLURMD_NODENAME", d->name);
    put(&n, "SLURM_SCRIPT_CONTEXT", job->is_epilog ? "epilog_slurmd" : "prolog_slurmd");
    put_number(&n, "SLURM_JOB_ID", job->job_id);
    put_number(&n, "SLURM_JOBID", job->job_id);
    put_number(&n, "SLURM_JOB_RESTART_COUNT", job->restarts);
    put_number(&n, "SLURM_JOB_UID", about->uid);
    put_number(&n, "SLURM_UID", about->uid);
    put_number(&n, "SLURM_JOB_GID", about->gid);
    put(&n, "SLURM_JOB_USER", about->user_name);
    put(&n, "SLURM_JOB_NODELIST", about->nodes);
    put(&n, "SLURM_NODELIST", about->nodes);
    put(&n, "SLURM_JOB_PARTITION", about->partition);
    put(&n, "SLURM_JOB_NAME", about->job_name);
    put(&n, "SLURM_JOB_WORK_DIR", about->work_dir);
    if (job->is_epilog && about->has_exit_status) {
        put_number(&n, "SLURM_JOB_EXIT_CODE", about->exit_status);
        vec_push(&n.list,
                 mem_printf("SLURM_JOB_EXIT_CODE2=%d:%d", WEXITSTATUS(about->exit_status),
                            WIFSIGNALED(about->exit_status) ? WTERMSIG(about->exit_status) : 0));
    }
    vec_push(&n.list, NULL);
    return n.list.data;
}

static void finished(struct run *r, int status)
{
    const char *what = r->job.is_epilog ? "Epilog" : "Prolog";
    _cleanup_free_ char *text = NULL;

    if (r->spawn_error)
        text = mem_printf("%s %s cannot be run: %s", what, r->job.path, strerror(r->spawn_error));
    else if (r->timed_out)
        text = mem_printf("%s %s did not end within %d s", what, r->job.path, SCRIPT_LIMIT_SEC);
    else if (WIFSIGNALED(status))
        text = mem_printf("%s %s was ended by signal %d", what, r->job.path, WTERMSIG(status));
    else if (WEXITSTATUS(status))
        text = mem_printf("%s %s exited with status %d", what, r->job.path, WEXITSTATUS(status));
    r->done(r->ctx, r->job.job_id, r->job.restarts, text && !status ? 1 << 8 : status, text);
    loop_timer_free(r->timer);
    free((char *)r->job.path);
    free(r);
}

static void on_exit_of(void *ctx, pid_t pid, int wait_status)
{
    finished(ctx, wait_status);
}

static void on_timer(void *ctx)
{
    struct run *r = ctx;

    if (r->spawn_error) {
        finished(r, 127 << 8);
        return;
    }
    kill(-r->pid, r->timed_out ? SIGKILL : SIGTERM);
    r->timed_out = true;
    loop_timer_set(r->timer, KILL_AFTER_MS);
}

static int spawn(const struct slurmd *d, struct run *r, char **env)
{
    char *const argv[] = {(char *)r->job.path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t set;
    int rc;

    posix_spawnattr_init(&attr);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attr, &set);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attr, &set);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_adddup2(&actions, d->null_fd, fd);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    rc = posix_spawn(&r->pid, r->job.path, &actions, &attr, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return rc;
}

pid_t script_run(struct slurmd *d, const struct script_job *job, script_fn *done, void *ctx)
{
    struct run *r = mem_new(struct run);
    char **env = script_environment(d, job);

    r->job = *job;
    r->job.about = NULL;
    r->job.path = mem_strdup(job->path);
    r->done = done;
    r->ctx = ctx;
    r->timer = loop_timer_new(d->loop, on_timer, r);
    r->spawn_error = spawn(d, r, env);
    for (char **p = env; *p; p++)
        free(*p);
    free(env);
    loop_timer_set(r->timer, r->spawn_error ? 0 : SCRIPT_LIMIT_SEC * 1000);
    if (r->spawn_error)
        return 0;
    loop_child(d->loop, r->pid, on_exit_of, r);
    return r->pid;
}
