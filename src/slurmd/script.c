/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/script.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utlist.h>

#include "base/child.h"
#include "base/mem.h"
#include "slurmd/scriptenv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define KILL_AFTER_MS 5000
#define REMIND_SEC 300  /* of one that has no limit and still runs */
#define UNLIMITED 65534 /* as slurm.conf writes it */

struct run {
    struct slurmd *d;
    struct run *next, *prev; /* in d->scripts */
    struct script script;    /* what, path: ours */
    pid_t pid;
    struct loop_timer *timer;
    int64_t began_ms;
    bool timed_out;
    int spawn_error;
    char *refused; /* why it was not even tried */
    script_fn *done;
    void *ctx;
};

static char *describe(const struct run *r, int status)
{
    const struct script *s = &r->script;
    const char *path = s->path ? s->path : "of plugins";

    if (r->refused)
        return mem_strdup(r->refused);
    if (r->spawn_error)
        return mem_printf("%s %s cannot be run: %s", s->what, s->host ? s->host : path,
                          strerror(r->spawn_error));
    if (r->timed_out)
        return mem_printf("%s %s did not end within %lld s", s->what, path,
                          (long long)s->limit_sec);
    if (WIFSIGNALED(status))
        return mem_printf("%s %s was ended by signal %d", s->what, path, WTERMSIG(status));
    if (WEXITSTATUS(status))
        return mem_printf("%s %s exited with status %d", s->what, path, WEXITSTATUS(status));
    return NULL;
}

static void run_free(struct run *r)
{
    DL_DELETE(r->d->scripts, r);
    loop_timer_free(r->timer);
    free((char *)r->script.what);
    free((char *)r->script.path);
    free((char *)r->script.host);
    free((char *)r->script.verb);
    free(r->refused);
    free(r);
}

void script_forget_all(struct slurmd *d)
{
    while (d->scripts)
        run_free(d->scripts);
}

static void finished(struct run *r, int status)
{
    _cleanup_free_ char *text = describe(r, status);

    r->done(r->ctx, r->script.job_id, r->script.restarts, text && !status ? 1 << 8 : status, text);
    run_free(r);
}

static void on_exit_of(void *ctx, pid_t pid, int wait_status)
{
    finished(ctx, wait_status);
}

static void remind(struct run *r)
{
    log_info("%s %s has been running for %lld s, and has no time limit", r->script.what,
             r->script.path ? r->script.path : "of plugins",
             (long long)(loop_mono_ms() - r->began_ms) / 1000);
    loop_timer_set(r->timer, REMIND_SEC * 1000);
}

static void on_timer(void *ctx)
{
    struct run *r = ctx;

    if (r->spawn_error) {
        finished(r, 127 << 8);
        return;
    }
    if (!r->script.limit_sec) {
        remind(r);
        return;
    }
    kill(-r->pid, r->timed_out ? SIGKILL : SIGTERM);
    r->timed_out = true;
    loop_timer_set(r->timer, KILL_AFTER_MS);
}

/* Its owner and mode may have changed since the configuration was read. */
static int check(const struct slurmd *d, struct run *r)
{
    struct err err = {0};

    if (!r->script.path ||
        conf_trust_path(d->conf, r->script.what, r->script.path, &err) != -ERR_ACCESS)
        return 0;
    r->refused = mem_strdup(err.text);
    return EACCES;
}

static int spawn(const struct slurmd *d, struct run *r, char **env)
{
    const struct script *s = &r->script;
    char *path = (char *)s->path;
    char *const plain[] = {path, NULL};
    char *const hosted[] = {(char *)s->host, (char *)s->verb, path, NULL};
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_adddup2(&actions, d->null_fd, fd);
    if (s->host && d->log_file) /* where plugins say what they have to say */
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, d->log_file, O_WRONLY | O_APPEND,
                                         0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    return child_start(&r->pid, s->host ? s->host : path, &actions, true, s->host ? hosted : plain,
                       env);
}

pid_t script_run(struct slurmd *d, const struct script *script, char **env, script_fn *done,
                 void *ctx)
{
    struct run *r = mem_new(struct run);
    int64_t wait_sec = script->limit_sec ? script->limit_sec : REMIND_SEC;

    r->d = d;
    DL_APPEND(d->scripts, r);
    r->script = *script;
    r->script.what = mem_strdup(script->what);
    r->script.path = mem_strdup(script->path);
    r->script.host = mem_strdup(script->host);
    r->script.verb = mem_strdup(script->verb);
    r->done = done;
    r->ctx = ctx;
    r->began_ms = loop_mono_ms();
    r->timer = loop_timer_new(d->loop, on_timer, r);
    r->spawn_error = check(d, r);
    if (!r->spawn_error)
        r->spawn_error = spawn(d, r, env);
    scriptenv_free(env);
    loop_timer_set(r->timer, r->spawn_error ? 0 : wait_sec * 1000);
    if (r->spawn_error)
        return 0;
    loop_child(d->loop, r->pid, on_exit_of, r);
    return r->pid;
}

int64_t script_limit_sec(const struct conf *c, bool is_epilog)
{
    int64_t own = is_epilog ? c->epilog_timeout_sec : c->prolog_timeout_sec;
    int64_t sec = own == UNLIMITED ? c->prolog_epilog_timeout_sec : own;

    return sec == UNLIMITED ? 0 : sec;
}
