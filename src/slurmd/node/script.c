/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/script.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "slurmd/node/logfile.h"
#include "slurmd/node/scriptenv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define UNLIMITED 65534 /* the notation for "unlimited" in slurm.conf */

struct run {
    struct slurmd *d;
    struct run *next, *prev; /* in d->scripts */
    struct script script;    /* 'what' and 'path' are owned */
    pid_t pid;
    char **env;        /* environment, while it waits for other scripts */
    char **kept_env;   /* for the programs that follow; NULL: none follows */
    VEC(char *) paths; /* of a pattern: programs that have not started yet, the next one last */
    struct loop_timer *timer;
    int64_t since;                  /* wall-clock seconds since it runs or waits */
    bool timed_out, held, is_empty; /* is_empty: the pattern matches no file */
    int spawn_error;
    char *refused; /* reason why it was not started */
    script_fn *done;
    void *ctx;
};

static const char *path_of(const struct script *s)
{
    return s->path ? s->path : "of plugins";
}

char *script_say_late(const struct script *s)
{
    return mem_printf("%s %s did not end within %lld s", s->what, path_of(s),
                      (long long)s->limit_sec);
}

char *script_say_runs(const struct script *s, pid_t pid, int64_t since)
{
    char text[TIME_TEXT_MAX];

    time_format_date(since, "", text);
    return mem_printf("%s %s (pid %ld) runs since %s, and has no time limit", s->what, path_of(s),
                      (long)pid, text);
}

static char *describe_end(const struct run *r, int status)
{
    const struct script *s = &r->script;
    const char *path = path_of(s);

    if (r->refused)
        return mem_strdup(r->refused);
    if (r->spawn_error)
        return mem_printf("%s %s cannot be run: %s", s->what, s->host ? s->host : path,
                          strerror(r->spawn_error));
    if (r->timed_out)
        return script_say_late(s);
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
    if (r->env)
        scriptenv_free(r->env);
    if (r->kept_env)
        scriptenv_free(r->kept_env);
    vec_foreach (&r->paths, path)
        free(*path);
    vec_done(&r->paths);
    free(r);
}

void script_forget_all(struct slurmd *d)
{
    while (d->scripts)
        run_free(d->scripts);
}

static void begin_run(struct run *r);

/* Waiting scripts follow on the list, in order of arrival. */
static void begin_next(struct slurmd *d)
{
    struct run *r;

    DL_FOREACH(d->scripts, r)
    {
        if (!r->script.serial)
            continue;
        if (r->env)
            begin_run(r);
        return;
    }
}

static void report_held(struct run *r, const char *text)
{
    bool held = text != NULL;

    if (r->script.held && r->held != held)
        r->script.held(r->ctx, r->script.job_id, r->script.restarts, text);
    r->held = held;
}

static void finish_run(struct run *r, int status)
{
    _cleanup_free_ char *text = describe_end(r, status);
    struct slurmd *d = r->d;
    bool serial = r->script.serial;

    report_held(r, NULL);
    r->done(r->ctx, r->script.job_id, r->script.restarts, text && !status ? 1 << 8 : status, text);
    run_free(r);
    if (serial && !d->old_scripts)
        begin_next(d);
}

static void begin_program(struct run *r, char **env);

/* The programs of a pattern run one after another until one fails. */
static void on_script_exited(void *ctx, pid_t pid, int wait_status)
{
    struct run *r = ctx;

    slurmd_debug(r->d, script, "job %u: %s %s has ended: %s %d", r->script.job_id, r->script.what,
                 r->script.path ? r->script.path : "of plugins",
                 WIFSIGNALED(wait_status) ? "signal" : "exit code",
                 WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
    if (wait_status || r->timed_out || !r->paths.len) {
        finish_run(r, wait_status);
        return;
    }
    free((char *)r->script.path);
    r->script.path = vec_pop(&r->paths);
    free((char *)take_ptr(r->script.host)); /* it has run its plugins */
    begin_program(r, NULL);
}

static const struct run *running_serial(const struct slurmd *d)
{
    const struct run *r;

    DL_FOREACH(d->scripts, r)
    {
        if (r->script.serial && !r->env)
            return r;
    }
    return NULL;
}

/* "Prolog /p waits since 2026-11-21T04:30:00 for Epilog of job 11 (pid 12)" */
static char *report_wait_begins(const struct run *r)
{
    const struct run *other = running_serial(r->d);
    _cleanup_free_ char *paths = mem_strdup(path_of(&r->script));
    char since[TIME_TEXT_MAX];

    for (char *c = paths; *c; c++) /* list of several lines */
        *c = *c == '\n' ? ' ' : *c;
    time_format_date(r->since, "", since);
    if (!other)
        return mem_printf("%s %s waits since %s for one that an earlier slurmd has started",
                          r->script.what, paths, since);
    return mem_printf("%s %s waits since %s for %s of job %u (pid %ld)", r->script.what, paths,
                      since, other->script.what, other->script.job_id, (long)other->pid);
}

static void report_wait(struct run *r)
{
    _cleanup_free_ char *text =
        r->env ? report_wait_begins(r) : script_say_runs(&r->script, r->pid, r->since);

    if (r->script.job_id)
        log_info("job %u: %s", r->script.job_id, text);
    else
        log_info("%s", text);
    report_held(r, text);
    loop_timer_set(r->timer, SCRIPT_REMIND_MS);
}

int64_t script_patience_ms(const struct script *s)
{
    return s->patience_sec ? s->patience_sec * 1000 : SCRIPT_REMIND_MS;
}

static void on_script_timer(void *ctx)
{
    struct run *r = ctx;

    if (r->spawn_error || r->is_empty) {
        finish_run(r, r->spawn_error ? 127 << 8 : 0);
        return;
    }
    if (r->env || !r->script.limit_sec) {
        report_wait(r);
        return;
    }
    kill(-r->pid, r->timed_out ? SIGKILL : SIGTERM);
    r->timed_out = true;
    loop_timer_set(r->timer, SCRIPT_KILL_AFTER_MS);
}

/* The owner and mode may have changed since the configuration was read. */
static int check_files(const struct slurmd *d, struct run *r)
{
    struct err err = {0};

    if (!r->script.path ||
        conf_trust_path(d->conf, r->script.what, r->script.path, &err) != -ERR_ACCESS)
        return 0;
    r->refused = mem_strdup(err.text);
    return EACCES;
}

static int spawn_script(const struct slurmd *d, struct run *r, char **env)
{
    const struct script *s = &r->script;
    char *path = (char *)s->path;
    char *const plain[] = {path, NULL};
    char *const hosted[] = {(char *)s->host, (char *)s->verb, path, NULL};
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_adddup2(&actions, d->null_fd, fd);
    if (s->host && d->log_file) /* where plugins write their messages */
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, d->log_file, O_WRONLY | O_APPEND,
                                         0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    return child_start(&r->pid, s->host ? s->host : path, &actions, true, s->host ? hosted : plain,
                       env);
}

static void report_start(struct run *r)
{
    if (r->script.begins)
        r->script.begins(r->ctx, r->script.job_id, r->script.restarts, r->pid);
}

/* env NULL: the environment of the program before it. */
static void begin_program(struct run *r, char **env)
{
    int64_t wait_ms =
        r->script.limit_sec ? r->script.limit_sec * 1000 : script_patience_ms(&r->script);

    if (!env)
        env = take_ptr(r->kept_env);
    r->since = time(NULL);
    r->spawn_error = check_files(r->d, r);
    if (!r->spawn_error)
        r->spawn_error = spawn_script(r->d, r, env);
    if (r->paths.len)
        r->kept_env = env;
    else
        scriptenv_free(env);
    loop_timer_set(r->timer, r->spawn_error ? 0 : wait_ms);
    if (r->spawn_error)
        return;
    loop_child(r->d->loop, r->pid, on_script_exited, r);
    slurmd_debug(r->d, script, "job %u: %s %s begins, process %d", r->script.job_id, r->script.what,
                 r->script.path ? r->script.path : "of plugins", (int)r->pid);
    report_start(r);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Expands a pattern to the files that match now. The programs of all lines run in reverse
 * alphabetical order, as in Slurm. */
static void expand_path(struct run *r)
{
    const char *rest = r->script.path;
    char *path;

    if (!r->script.path || !strpbrk(r->script.path, "*?[\n"))
        return;
    while ((path = conf_script_next(&rest)) != NULL) {
        glob_t found = {0};
        if (!strpbrk(path, "*?[")) {
            vec_push(&r->paths, path);
            continue;
        }
        if (glob(path, GLOB_NOSORT, NULL, &found) == 0)
            for (size_t i = 0; i < found.gl_pathc; i++)
                vec_push(&r->paths, mem_strdup(found.gl_pathv[i]));
        globfree(&found);
        free(path);
    }
    if (r->paths.len)
        qsort(r->paths.data, r->paths.len, sizeof(*r->paths.data), compare_paths);
    free((char *)r->script.path);
    r->script.path = r->paths.len ? vec_pop(&r->paths) : NULL;
}

static void begin_run(struct run *r)
{
    char **env = take_ptr(r->env);

    report_held(r, NULL);
    r->pid = 0;
    report_start(r);
    expand_path(r);
    r->is_empty = !r->script.path && !r->script.host;
    if (!r->is_empty) {
        begin_program(r, env);
        return;
    }
    scriptenv_free(env);
    loop_timer_set(r->timer, 0);
}

static bool has_to_wait(const struct run *r)
{
    const struct run *other;

    if (!r->script.serial)
        return false;
    DL_FOREACH(r->d->scripts, other)
    {
        if (other != r && other->script.serial)
            return true;
    }
    return r->d->old_scripts > 0;
}

void script_old_ended(struct slurmd *d)
{
    if (--d->old_scripts == 0)
        begin_next(d);
}

void script_run(struct slurmd *d, const struct script *script, char **env, script_fn *done,
                void *ctx)
{
    struct run *r = mem_new(struct run);

    r->d = d;
    DL_APPEND(d->scripts, r);
    r->script = *script;
    r->script.what = mem_strdup(script->what);
    r->script.path = mem_strdup(script->path);
    r->script.host = mem_strdup(script->host);
    r->script.verb = mem_strdup(script->verb);
    r->done = done;
    r->ctx = ctx;
    r->timer = loop_timer_new(d->loop, on_script_timer, r);
    r->env = env;
    r->since = time(NULL);
    if (has_to_wait(r))
        loop_timer_set(r->timer, script_patience_ms(&r->script));
    else
        begin_run(r);
}

int64_t script_limit_sec(const struct conf *c, bool is_epilog)
{
    int64_t own = is_epilog ? c->epilog_timeout_sec : c->prolog_timeout_sec;
    int64_t sec = own == UNLIMITED ? c->prolog_epilog_timeout_sec : own;

    return sec == UNLIMITED ? 0 : sec;
}

int script_check_conf(const struct conf *c, struct err *err)
{
    const struct {
        const char *key, *path;
    } programs[] = {
        {"Prolog", c->prolog},
        {"Epilog", c->epilog},
        {"TaskProlog", c->task_prolog},
        {"TaskEpilog", c->task_epilog},
        {"UnkillableStepProgram", c->unkillable_step_program},
        {"HealthCheckProgram", c->health_check_program},
        {"RebootProgram", c->reboot_program},
    };
    int rc = conf_trust_files(c, err);

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]) && rc == 0; i++) {
        const char *rest = programs[i].path;
        char *path;
        while (rc == 0 && (path = conf_script_next(&rest)) != NULL) {
            rc = conf_trust_path(c, programs[i].key, path, err);
            if (rc < 0 && rc != -ERR_ACCESS)
                rc = 0;
            free(path);
        }
    }
    return rc;
}
