/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/oldscript.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "slurmd/attempt/report.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define LOOK_MS 200
#define COMMAND_LINE_MAX 65536
#define VARS 3

struct oldscript {
    struct attempt *attempt;
    struct script script; /* its path is owned */
    /* Environment variables with which it was started; they distinguish it from others. */
    const char *vars[VARS];
    char *id, *node;
    bool is_epilog, timed_out;
    int64_t due_ms; /* loop_mono_ms() of the next signal or report; 0: unknown yet */
    script_fn *done;
    struct loop_timer *timer;
};

/* Compares the command line; without a script of the site it is the program that runs the
   plugins. */
static bool is_running(const struct oldscript *o, pid_t pid)
{
    const char *rest = o->script.path ? o->script.path : o->attempt->d->stepd_spank_path;
    _cleanup_str_ struct str line = STR_INIT;
    bool found = false;
    char path[64], *script;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    if (path_read_file(path, COMMAND_LINE_MAX, &line, NULL))
        return false;
    while (!found && line.len && (script = conf_script_next(&rest)) != NULL) {
        /* The part of a pattern before its first wildcard. */
        size_t plain = strcspn(script, "*?[");
        found = memmem(line.data, line.len, script, plain) != NULL;
        free(script);
    }
    return found;
}

static bool has_vars(const struct oldscript *o, pid_t pid)
{
    _cleanup_str_ struct str environment = STR_INIT;

    if (proc_environ(pid, &environment))
        return false;
    for (size_t i = 0; i < VARS; i++)
        if (!proc_environ_has(&environment, o->vars[i], true))
            return false;
    return true;
}

struct search {
    const struct oldscript *of;
    pid_t found, other; /* other: a process with the script's variables and another command line */
};

static int check_script(void *ctx, pid_t pid)
{
    struct search *s = ctx;
    struct proc p;

    /* The script itself is a session leader, unlike its children. */
    if (proc_read(pid, &p) || p.session != pid)
        return 0;
    if (!has_vars(s->of, pid))
        return 0;
    if (!is_running(s->of, pid)) {
        s->other = pid;
        return 0;
    }
    s->found = pid;
    return 1;
}

/* Searches for a script whose pid was not recorded, because the daemon was killed directly after
 * the start. The script may have executed another program since. Returns 0 if there is none. */
static pid_t find_process(const struct oldscript *o)
{
    struct search s = {o, 0, 0};

    proc_each(check_script, &s);
    return s.found ? s.found : s.other;
}

/* The script may have executed another program since, with or without its original environment. */
static bool is_alive(const struct oldscript *o, pid_t *pid)
{
    if (*pid <= 0)
        *pid = find_process(o);
    return *pid > 0 && (has_vars(o, *pid) || (o->script.path && is_running(o, *pid)));
}

/* Returns the start time in terms of loop_mono_ms(). */
static int64_t begun_ms(pid_t pid)
{
    struct proc p;

    if (proc_read(pid, &p))
        return loop_mono_ms();
    return (int64_t)(p.started_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void report_wait(struct oldscript *o, pid_t pid)
{
    int64_t since = (loop_wall_ms() - (loop_mono_ms() - begun_ms(pid))) / 1000;
    _cleanup_free_ char *text = script_say_runs(&o->script, pid, since);
    struct attempt *a = o->attempt;

    log_info("job %u: %s", a->key.id, text);
    report_held_up(a->d, a->key.id, a->key.restarts, text);
}

static void check_time_limit(struct oldscript *o, pid_t pid)
{
    int64_t limit_ms = o->script.limit_sec * 1000;

    if (!o->due_ms)
        o->due_ms = begun_ms(pid) + (limit_ms ? limit_ms : script_patience_ms(&o->script));
    if (loop_mono_ms() < o->due_ms)
        return;
    if (limit_ms) {
        kill(-pid, o->timed_out ? SIGKILL : SIGTERM);
        o->timed_out = true;
    } else {
        report_wait(o, pid);
    }
    o->due_ms = loop_mono_ms() + (limit_ms ? SCRIPT_KILL_AFTER_MS : SCRIPT_REMIND_MS);
}

static void note_script_end(struct oldscript *o)
{
    _cleanup_free_ char *text = o->timed_out ? script_say_late(&o->script) : NULL;
    struct slurmd *d = o->attempt->d;
    struct attempt_key key = o->attempt->key;
    script_fn *done = o->done;

    log_info("job %u: the %s that was running when this daemon started has ended", key.id,
             o->is_epilog ? "epilog" : "prolog");
    report_held_up(d, key.id, key.restarts, NULL); /* possibly reported by the daemon before */
    oldscript_free(take_ptr(o->attempt->old_script));
    done(d, key.id, key.restarts, text ? 1 << 8 : 0, text);
    script_old_ended(d);
}

static void on_look(void *ctx)
{
    struct oldscript *o = ctx;
    struct note *note = &o->attempt->note;
    pid_t *pid = o->is_epilog ? &note->epilog_pid : &note->prolog_pid;

    if (!is_alive(o, pid)) {
        note_script_end(o);
        return;
    }
    check_time_limit(o, *pid);
    loop_timer_set(o->timer, LOOK_MS);
}

void oldscript_watch(struct attempt *a, const struct script *s, bool is_epilog, script_fn *done)
{
    struct oldscript *o = mem_new(struct oldscript);

    o->attempt = a;
    o->script = *s;
    o->script.path = mem_strdup(s->path);
    o->id = mem_printf("SLURM_JOB_ID=%u", a->key.id);
    o->node = mem_printf("SLURMD_NODENAME=%s", a->d->name);
    o->vars[0] = o->id;
    o->vars[1] = o->node;
    o->vars[2] = is_epilog ? "SLURM_SCRIPT_CONTEXT=epilog_slurmd" //
                           : "SLURM_SCRIPT_CONTEXT=prolog_slurmd";
    o->is_epilog = is_epilog;
    o->done = done;
    a->d->old_scripts++;
    a->old_script = o;
    o->timer = loop_timer_new(a->d->loop, on_look, o);
    loop_timer_set(o->timer, 0);
}

void oldscript_free(struct oldscript *o)
{
    if (!o)
        return;
    loop_timer_free(o->timer);
    free((char *)o->script.path);
    free(o->id);
    free(o->node);
    free(o);
}
