/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/ends.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "launch/tasks.h"

#define TELL_MS 250         /* ends of tasks within this time are reported in one message */
#define WAIT_WARNING_SEC 60 /* with --wait=0 */

struct ends {
    struct run *run;
    bool telling;                  /* tell_timer is armed */
    int64_t first_ms;              /* end of the first task; 0: none has ended */
    struct loop_timer *wait_timer; /* for --wait */
    struct loop_timer *tell_timer; /* collects exit messages */
};

static bool is_terse(void)
{
    const char *text = getenv("SLURM_SRUN_REDUCE_TASK_EXIT_MSG");

    return text != NULL && *text != '\0' && strcmp(text, "0") != 0;
}

static void log_task_message(void *ctx, bool failed, const char *text)
{
    const struct run *run = ctx;

    if (failed && !run->output_broken)
        say_error("%s", text);
    else
        say_verbose(failed ? "%s" : "launch/slurm: _task_finish: %s", text);
}

static void report_ends(struct run *run)
{
    tasks_tell_ends(run->tasks, log_task_message, run);
}

static void log_state_message(void *ctx, bool failed, const char *text)
{
    (void)ctx;
    (void)failed;
    say_info("%s", text);
}

void ends_tell_states(const struct ends *e)
{
    if (e != NULL)
        tasks_tell_states(e->run->tasks, e->run->step_name, log_state_message, NULL);
}

static void on_tell_timer(void *ctx)
{
    struct ends *e = ctx;

    e->telling = false;
    report_ends(e->run);
}

static void terminate_step(struct run *run)
{
    say_info("Terminating %s", run->step_name);
    run->on->abort(run, NULL);
}

static void on_wait_timer(void *ctx)
{
    struct ends *e = ctx;

    say_info("First task exited %llds ago",
             (long long)((loop_mono_ms() - e->first_ms + 500) / 1000));
    ends_tell_states(e);
    if (e->run->options->wait_sec != 0)
        terminate_step(e->run);
}

struct ends *ends_new(struct run *run)
{
    struct ends *e = mem_new(struct ends);

    e->run = run;
    e->wait_timer = loop_timer_new(run->loop, on_wait_timer, e);
    e->tell_timer = loop_timer_new(run->loop, on_tell_timer, e);
    if (is_terse())
        tasks_tell_once(run->tasks);
    return e;
}

void ends_free(struct ends *e)
{
    if (e == NULL)
        return;
    loop_timer_free(e->wait_timer);
    loop_timer_free(e->tell_timer);
    free(e);
}

void ends_task(struct ends *e, bool bad)
{
    struct run *run = e->run;
    const struct run_options *o = run->options;

    if (e->first_ms == 0) {
        e->first_ms = loop_mono_ms();
        if (!tasks_all_ended(run->tasks) && !o->no_kill)
            loop_timer_set(e->wait_timer,
                           (o->wait_sec > 0 ? o->wait_sec : WAIT_WARNING_SEC) * 1000);
    }
    if (tasks_all_ended(run->tasks)) {
        loop_timer_set(e->wait_timer, -1);
    } else if (bad && o->kill_on_bad_exit && !o->no_kill && !run->aborting) {
        report_ends(run);
        terminate_step(run);
    }
    if (!e->telling) {
        e->telling = true;
        loop_timer_set(e->tell_timer, TELL_MS);
    }
}

void ends_all(struct ends *e)
{
    loop_timer_set(e->wait_timer, -1);
    loop_timer_set(e->tell_timer, -1);
    report_ends(e->run);
}
