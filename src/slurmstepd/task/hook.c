/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmstepd/env/userenv.h"
#include "slurmstepd/mpi/mpi.h"
#include "slurmstepd/stream/journal.h"
#include "slurmstepd/task/hook.h"
#include "slurmstepd/task/plan.h"
#include "slurmstepd/task/task.h"

#define SHOWN_MAX 60 /* bytes of a line quoted in a complaint */
#define COMPLAINTS_MAX 1000

/* Returns the text after the word and one blank; NULL: the line does not begin with the word. */
static const char *skip_word(const char *line, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(line, word, len) != 0 || (line[len] && line[len] != ' ' && line[len] != '\t'))
        return NULL;
    return line + len + (line[len] != '\0');
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static bool export_one(const char *at, struct envlist *env)
{
    _cleanup_free_ char *name = NULL;
    size_t len;

    at = skip_blanks(at);
    len = strcspn(at, "= \t");
    if (!len || at[len] != '=' || strlen(at) > DIRECTIVE_VALUE_MAX)
        return false;
    name = mem_strndup(at, len);
    envlist_set(env, name, at + len + 1);
    return true;
}

static bool unset_all(const char *at, struct envlist *env)
{
    bool any = false;
    size_t len;

    for (at = skip_blanks(at); (len = strcspn(at, " \t")); at = skip_blanks(at + len)) {
        _cleanup_free_ char *name = mem_strndup(at, len);

        if (strchr(name, '='))
            return false;
        envlist_unset(env, name);
        any = true;
    }
    return any;
}

/* whole: the line has no NUL. */
static bool apply_line(const char *line, bool whole, struct envlist *env, struct str *out)
{
    const char *rest;

    if ((rest = skip_word(line, "print"))) {
        str_printf(out, "%s\n", rest);
        return whole;
    }
    if ((rest = skip_word(line, "export")))
        return whole && export_one(rest, env);
    if ((rest = skip_word(line, "unset")))
        return whole && unset_all(rest, env);
    return true;
}

void hook_apply_directives(const char *text, size_t len, struct envlist *env, struct str *out,
                           struct str *complaints)
{
    const char *end = text + len;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t line_len = (size_t)((newline ? newline : end) - text);
        _cleanup_free_ char *line = mem_strndup(text, line_len);

        if (!apply_line(line, strlen(line) == line_len, env, out) &&
            complaints->len < COMPLAINTS_MAX)
            str_printf(complaints, "cannot use `%.*s'\n", SHOWN_MAX, line);
        text += line_len + 1;
    }
}

#define CONTEXT "SLURM_SCRIPT_CONTEXT"

static const char *const epilog_names[HOOK_EPILOGS] = {"--task-epilog", "TaskEpilog"};

static void format_end(const char *name, const char *path, int status, struct str *out)
{
    str_printf(out, "%s %s ", name, path);
    if (WIFSIGNALED(status))
        str_printf(out, "was ended by signal %d", WTERMSIG(status));
    else
        str_printf(out, "exited with status %d", WEXITSTATUS(status));
}

/* Prologs, in the task's process. */

static int spawn_prolog(const char *path, char **env, int out, bool has_pmi, pid_t *pid)
{
    char *const argv[] = {(char *)path, NULL};
    posix_spawn_file_actions_t actions;
    int rc;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (has_pmi)
        posix_spawn_file_actions_addclose(&actions, MPI_TASK_FD);
    rc = posix_spawn(pid, path, &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static void write_error(const char *text, size_t len)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_printf(&line, "slurmstepd: error: %.*s\n", (int)len, text);
    path_write_all(STDERR_FILENO, line.data, line.len);
}

static void use_output(const char *name, const char *path, const struct str *text, bool cut,
                       struct envlist *env)
{
    _cleanup_str_ struct str out = STR_INIT, complaints = STR_INIT;

    hook_apply_directives(str_cstr(text), text->len, env, &out, &complaints);
    if (cut)
        str_printf(&complaints, "its output beyond %u bytes was dropped\n", HOOK_OUTPUT_MAX);
    for (const char *at = str_cstr(&complaints); *at; at += strcspn(at, "\n") + 1) {
        _cleanup_free_ char *line =
            mem_printf("%s %s: %.*s", name, path, (int)strcspn(at, "\n"), at);

        write_error(line, strlen(line));
    }
    path_write_all(STDOUT_FILENO, out.data, out.len);
}

/* Variables of Slurm's guide that prologs and epilogs get and tasks do not. */
static const struct {
    const char *name;
    __rlimit_resource_t resource;
} limit_names[] = {
    {"SLURM_RLIMIT_AS", RLIMIT_AS},         {"SLURM_RLIMIT_CORE", RLIMIT_CORE},
    {"SLURM_RLIMIT_CPU", RLIMIT_CPU},       {"SLURM_RLIMIT_DATA", RLIMIT_DATA},
    {"SLURM_RLIMIT_FSIZE", RLIMIT_FSIZE},   {"SLURM_RLIMIT_MEMLOCK", RLIMIT_MEMLOCK},
    {"SLURM_RLIMIT_NOFILE", RLIMIT_NOFILE}, {"SLURM_RLIMIT_NPROC", RLIMIT_NPROC},
    {"SLURM_RLIMIT_RSS", RLIMIT_RSS},       {"SLURM_RLIMIT_STACK", RLIMIT_STACK},
};
#define LIMIT_NAMES (sizeof(limit_names) / sizeof(limit_names[0]))

void hook_put_task_facts(struct envlist *env)
{
    const char *ids = envlist_get(env, "SLURM_GTIDS");

    if (ids)
        envlist_set(env, "SLURM_GTID", ids);
    for (size_t i = 0; i < LIMIT_NAMES; i++) {
        struct rlimit limit;
        char text[24];
        if (getrlimit(limit_names[i].resource, &limit))
            continue;
        snprintf(text, sizeof text, "%lld",
                 limit.rlim_cur == RLIM_INFINITY ? -1LL : (long long)limit.rlim_cur);
        envlist_set(env, limit_names[i].name, text);
    }
}

static void unset_task_facts(struct envlist *env)
{
    envlist_unset(env, "SLURM_GTID");
    for (size_t i = 0; i < LIMIT_NAMES; i++)
        envlist_unset(env, limit_names[i].name);
}

static int run_prolog(const char *name, const char *path, struct envlist *env, bool has_pmi)
{
    _cleanup_str_ struct str text = STR_INIT, why = STR_INIT;
    const struct collect_limits limits = {.bytes = HOOK_OUTPUT_MAX};
    bool cut = false;
    int ends[2], rc, status = 0;
    pid_t pid;

    rc = pipe2(ends, O_CLOEXEC) ? errno : 0;
    envlist_set(env, CONTEXT, "prolog_task");
    hook_put_task_facts(env);
    if (!rc) {
        rc = spawn_prolog(path, envlist_argv(env), ends[1], has_pmi, &pid);
        close(ends[1]);
        if (!rc)
            status = env_collect(pid, ends[0], &limits, &text, &cut);
        close(ends[0]);
    }
    unset_task_facts(env);
    envlist_unset(env, CONTEXT);
    if (rc)
        str_printf(&why, "%s %s cannot be run: %s", name, path, strerror(rc));
    else if (status)
        format_end(name, path, status, &why);
    if (!why.len) {
        use_output(name, path, &text, cut, env);
        return 0;
    }
    str_puts(&why, ": the task is not started");
    write_error(why.data, why.len);
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
}

bool hook_has_prologs(const struct step *step)
{
    const char *own = step->launch ? step->launch->task_prolog : NULL;

    return (own && *own) || step->start->task_prolog;
}

int hook_prologs(struct task *t, const struct child_plan *plan)
{
    struct step *step = t->step;
    const char *own = step->launch ? step->launch->task_prolog : NULL;
    bool has_pmi = plan->pmi_fd >= 0;
    int rc = 0;

    if (step->start->task_prolog)
        rc = run_prolog("TaskProlog", step->start->task_prolog, &step->env, has_pmi);
    if (!rc && own && *own)
        rc = run_prolog("--task-prolog", own, &step->env, has_pmi);
    return rc;
}

/* Epilogs, in the shepherd. */

bool hook_has_epilogs(const struct step *step)
{
    const char *own = step->launch ? step->launch->task_epilog : NULL;

    return (own && *own) || step->start->task_epilog;
}

static void keep_limits(const struct step *step, struct hook *h)
{
    const Pb__JobPayload *payload = step->launch ? NULL : step->batch->payload;
    Pb__Rlimit *const *limits = step->launch ? step->launch->rlimits
                                : payload    ? payload->rlimits
                                             : NULL;

    h->limit_count = step->launch ? step->launch->n_rlimits : payload ? payload->n_rlimits : 0;
    h->limits = mem_new_array(Pb__Rlimit, h->limit_count + 1);
    for (size_t i = 0; i < h->limit_count; i++)
        h->limits[i] = *limits[i];
}

void hook_keep(struct step *step)
{
    const char *own = step->launch ? step->launch->task_epilog : NULL;
    const char *dir = step->launch ? step->launch->work_dir : step->batch->spec->work_dir;
    struct hook *h = &step->hook;

    if (!hook_has_epilogs(step))
        return;
    h->path[0] = own && *own ? mem_strdup(own) : NULL;
    h->path[1] = step->start->task_epilog ? mem_strdup(step->start->task_epilog) : NULL;
    h->work_dir = mem_strdup(dir ? dir : "/tmp");
    h->umask = plan_umask(step);
    keep_limits(step, h);
    h->env = step->env;
    step->env = (struct envlist){0};
}

static void release_output(struct task *t)
{
    if (t->out_fd >= 0)
        close(take_fd(&t->out_fd));
    t->epilog_next = HOOK_EPILOGS;
}

static void run_next(struct task *t);

static void on_epilog_exit(void *ctx, pid_t pid, int wait_status)
{
    struct task *t = ctx;
    struct step *step = t->step;
    unsigned which = t->epilog_next - 1;
    _cleanup_str_ struct str text = STR_INIT;

    if (t->epilog_timer)
        loop_timer_free(take_ptr(t->epilog_timer));
    t->epilog_pid = 0;
    assert(step->epilogs > 0);
    step->epilogs--;
    if (wait_status && step->phase == STEP_RUNNING) {
        format_end(epilog_names[which], step->hook.path[which], wait_status, &text);
        if (which == 1) {
            journal_error(step, "step %s, task %u: %s", step->name, t->id, str_cstr(&text));
        } else {
            _cleanup_free_ char *line = mem_printf("slurmstepd: error: %s\n", str_cstr(&text));

            journal_say_to_task(t, line);
        }
    }
    run_next(t);
    step->life->check(step);
}

static void on_epilog_limit(void *ctx)
{
    struct task *t = ctx;

    kill(-t->epilog_pid, SIGKILL);
}

static void run_next(struct task *t)
{
    struct step *step = t->step;
    const char *path = NULL;
    unsigned which = 0;
    pid_t pid;

    while (!path && step_is_running(step) && t->epilog_next < HOOK_EPILOGS)
        path = step->hook.path[which = t->epilog_next++];
    if (!path) {
        release_output(t);
        return;
    }
    pid = fork();
    if (pid == 0)
        child_run_epilog(t, epilog_names[which], path);
    if (pid < 0) {
        journal_error(step, "step %s, task %u: %s %s cannot be run: %s", step->name, t->id,
                      epilog_names[which], path, strerror(errno));
        release_output(t);
        return;
    }
    setpgid(pid, pid); /* the child does so as well; the first call takes effect */
    t->epilog_pid = pid;
    step->epilogs++;
    loop_child(step->loop, pid, on_epilog_exit, t);
    if (which == 1)
        return;
    t->epilog_timer = loop_timer_new(step->loop, on_epilog_limit, t);
    loop_timer_set(t->epilog_timer, HOOK_EPILOG_SEC * 1000);
}

void hook_epilogs(struct task *t)
{
    run_next(t);
}

void hook_done(struct step *step)
{
    for (int i = 0; i < HOOK_EPILOGS; i++)
        free(step->hook.path[i]);
    free(step->hook.work_dir);
    free(step->hook.limits);
    envlist_done(&step->hook.env);
}
