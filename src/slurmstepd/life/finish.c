/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/spare_file.h"
#include "base/status.h"
#include "base/timefmt.h"
#include "slurmstepd/life/control.h"
#include "slurmstepd/life/finish.h"
#include "slurmstepd/life/start.h"
#include "slurmstepd/pmix/pmix.h"
#include "slurmstepd/stream/journal.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/stream/stream.h"
#include "slurmstepd/stream/watch.h"
#include "slurmstepd/stream/x11.h"
#include "slurmstepd/task/batch_script.h"
#include "slurmstepd/task/contain.h"
#include "slurmstepd/task/freq.h"
#include "slurmstepd/task/held.h"
#include "slurmstepd/task/plugin.h"
#include "slurmstepd/task/reap.h"
#include "slurmstepd/task/session.h"
#include "slurmstepd/task/task.h"

#define CONFIRM_MS 5000 /* milliseconds; the daemon may be busy or stopped */

static void write_end_file(const struct step *step)
{
    _cleanup_free_ char *path =
        control_file(step->dir, step->job_id, step->restarts, step->step_id, "exit");
    _cleanup_free_ char *spares = mem_printf("%s/spare", step->dir);

    /* the daemon is told as well, so a failure loses nothing */
    spare_file_write(spares, path, step->end.data, step->end.len, true, NULL);
}

static void close_end(struct step *step)
{
    str_done(&step->end);
    loop_timer_free(take_ptr(step->end_timer));
}

bool finish_is_unconfirmed(const struct step *step)
{
    return step->end.len > 0;
}

void finish_keep_result(struct step *step)
{
    if (!finish_is_unconfirmed(step))
        return;
    write_end_file(step);
    close_end(step);
}

static void on_confirm_late(void *ctx)
{
    finish_keep_result(ctx);
    finish_check(ctx);
}

/* Sends the result to the daemon. in_file: write the file first in any case. */
static void send_result(struct step *step, const Pb__StepdEnded *m, bool in_file)
{
    pb_pack(&m->base, &step->end);
    step->end_timer = loop_timer_new(step->loop, on_confirm_late, step);
    if (in_file || !step->confirms_end || !step->daemon || step->adopters.len)
        finish_keep_result(step);
    else
        loop_timer_set(step->end_timer, CONFIRM_MS);
    control_tell_ended(step, m);
}

void finish_confirmed(struct step *step)
{
    if (!finish_is_unconfirmed(step))
        return;
    close_end(step);
    finish_check(step);
}

#define STEPD_ERROR "slurmstepd: error: "
#define KIB_PER_MIB 1024
#define BLOCK_BYTES 512 /* bytes per block in getrusage() */
/* Milliseconds between searches for descendants whose end causes no signal. */
#define RETRY_MS 100
#define HELD_MS 2000 /* time that a tracer may hold a killed process */

static void fill_usage(Pb__Usage *usage)
{
    struct rusage r;

    getrusage(RUSAGE_CHILDREN, &r);
    usage->has_user_usec = usage->has_sys_usec = usage->has_max_rss_kib = true;
    usage->user_usec = (uint64_t)r.ru_utime.tv_sec * 1000000 + (uint64_t)r.ru_utime.tv_usec;
    usage->sys_usec = (uint64_t)r.ru_stime.tv_sec * 1000000 + (uint64_t)r.ru_stime.tv_usec;
    usage->max_rss_kib = (uint64_t)r.ru_maxrss;
    usage->has_pages = usage->has_read_bytes = usage->has_write_bytes = true;
    usage->pages = (uint64_t)r.ru_majflt;
    usage->read_bytes = (uint64_t)r.ru_inblock * BLOCK_BYTES;
    usage->write_bytes = (uint64_t)r.ru_oublock * BLOCK_BYTES;
}

static void init_ended(const struct step *step, Pb__StepdEnded *m)
{
    pb__stepd_ended__init(m);
    m->job_id = step->job_id;
    m->restarts = step->restarts;
    m->step_id = step->step_id;
    m->has_unkillable = m->unkillable = step->stuck != NULL;
    m->stuck = step->stuck;
}

void finish_never_started(struct step *step, int code, const char *text)
{
    Pb__StepdEnded m;

    plugin_exit(step);
    session_close(step);
    init_ended(step, &m);
    m.has_launch_code = true;
    m.launch_code = code;
    m.text = (char *)text;
    batch_script_remove(step);
    x11_end(step);
    freq_end(step);
    send_result(step, &m, true);
}

/* No process is left, or only unkillable processes. */
static void record_end(struct step *step)
{
    Pb__StepdEnded m;
    Pb__Usage usage = PB__USAGE__INIT;

    if (step->kill_timer)
        loop_timer_set(step->kill_timer, -1);
    plugin_exit(step);
    session_close(step);
    fill_usage(&usage);
    init_ended(step, &m);
    contain_end(step, &usage, &m);
    freq_end(step);
    for (size_t i = 0; i < step->task_count; i++) {
        stream_cut(&step->tasks[i].out);
        stream_cut(&step->tasks[i].err);
    }
    m.exit_status = step->exit_status;
    m.usage = &usage;
    m.has_timed_out = m.timed_out = step->timed_out;
    m.has_out_of_memory = m.out_of_memory = status_is_out_of_memory(step->exit_status);
    batch_script_remove(step);
    x11_end(step);
    send_result(step, &m, false);
    step_advance(step, STEP_ON_EMPTIED);
    finish_drain(step);
}

static void on_tracer_ended(void *ctx, pid_t tracer, pid_t held)
{
    const struct step *step = ctx;

    journal_error(step,
                  "step %s: ended process %d, which held process %d of the step when it was "
                  "killed",
                  step->name, (int)tracer, (int)held);
}

/* Tracers outside of the step hold the killed processes: their exit status cannot be collected. */
static void give_up_traced(struct step *step)
{
    for (size_t i = 0; i < step->task_count; i++)
        if (!step->tasks[i].ended && step->tasks[i].pid)
            task_report_exit(&step->tasks[i], held_status(step->tasks[i].pid));
    record_end(step);
}

static void on_kill_retry(void *ctx)
{
    struct step *step = ctx;
    bool is_killing = step->phase == STEP_KILLING || step->phase == STEP_REAPING;

    if (is_killing && reap_have_children()) {
        if (held_is_over())
            give_up_traced(step);
        else if (loop_mono_ms() - step->killed_at_ms >= HELD_MS)
            held_end_tracers(step->uid, on_tracer_ended, step);
    }
    finish_check(step);
}

static void retry_soon(struct step *step)
{
    if (!step->retry_timer)
        step->retry_timer = loop_timer_new(step->loop, on_kill_retry, step);
    loop_timer_set(step->retry_timer, RETRY_MS);
}

/* SIGKILL does not end some processes: the step ends without them. */
static void give_up_stuck(struct step *step)
{
    struct str text = STR_INIT;

    contain_describe(step, &text);
    step->stuck = str_take(&text);
    for (size_t i = 0; i < step->task_count; i++)
        if (!step->tasks[i].ended && step->tasks[i].pid)
            task_report_exit(&step->tasks[i], SIGKILL);
    if (step_is_starting(step)) {
        start_check(step);
        return;
    }
    record_end(step);
    finish_check(step);
}

static void on_patience_over(void *ctx)
{
    struct step *step = ctx;

    if (!step->killed_at_ms)
        finish_terminate(step, 0, NULL);
    else
        give_up_stuck(step);
}

static void set_patience(struct step *step, int64_t after_ms)
{
    if (!step->kill_timer)
        step->kill_timer = loop_timer_new(step->loop, on_patience_over, step);
    loop_timer_set(step->kill_timer, after_ms);
}

/* Each end of a child asks for another round, and a round examines all descendants; with thousands
 * of them the rounds would take minutes. A small number, also of a fork bomb, is examined every
 * time. */
static void kill_round(struct step *step)
{
    int64_t began_ms = loop_mono_ms();

    if (began_ms < step->next_round_ms)
        return;
    contain_signal_all(step, SIGKILL);
    step->next_round_ms = loop_mono_ms() + 2 * (loop_mono_ms() - began_ms);
}

void finish_kill_all(struct step *step)
{
    kill_round(step);
    if (!step->killed_at_ms) {
        set_patience(step, (int64_t)step->unkillable_sec * 1000);
        step->killed_at_ms = loop_mono_ms();
    }
    step_advance(step, STEP_ON_KILLED);
    retry_soon(step);
}

static bool output_is_sent(const struct step *step)
{
    if (!step->srun)
        return true;
    for (size_t i = 0; i < step->task_count; i++)
        if (!stream_drained(&step->tasks[i].out) || !stream_drained(&step->tasks[i].err))
            return false;
    return true;
}

/* All processes of a terminated script have the grace period, because an srun in it prints the
 * messages of the nodes. */
static bool waits_for_descendants(const struct step *step)
{
    return step->waits_for_all || (step->is_batch && step_is_ordered(step));
}

/* Nothing is left to wait for. The extern step waits for its end, then for adopted processes. */
static bool has_run_out(struct step *step)
{
    if (step->left || step->epilogs)
        return false;
    if (waits_for_descendants(step) && !step->killed_at_ms && contain_has_left(step)) {
        retry_soon(step); /* their end causes no signal */
        return false;
    }
    return !step->is_extern || step->killed_at_ms ||
           (step_is_ordered(step) && !contain_has_left(step));
}

/* After the tasks kills the processes that are left, and ends the step when there are none. */
static void check_living(struct step *step)
{
    bool is_alive = step_is_running(step) || step->phase == STEP_KILLING;
    bool has_run = is_alive && has_run_out(step) && !pmix_asks(step);

    if (has_run)
        step_advance(step, STEP_ON_RUN_OUT);
    if (step->phase == STEP_TERMINATING && step->is_extern)
        retry_soon(step); /* their end causes no signal */
    if (step_is_running(step))
        return;
    if ((is_alive && !has_run) || contain_has_left(step))
        finish_kill_all(step); /* processes that were forked since */
    else
        record_end(step);
}

void finish_check(struct step *step)
{
    Pb__Usage usage = PB__USAGE__INIT;

    if (step_is_starting(step) && step->fail_code) {
        start_check(step);
        return;
    }
    if (!step_is_starting(step) && !step_has_ended(step))
        check_living(step);
    if (!step_is_draining(step) || !output_is_sent(step))
        return;
    watch_finish(step);
    if (step->srun && step->phase == STEP_DRAINING) {
        step_advance(step, STEP_ON_SRUN_TOLD);
        fill_usage(&usage);
        srun_finish(step, &usage);
    }
    if (step->srun || !watch_is_over(step) || finish_is_unconfirmed(step))
        return; /* called again when the last of them has ended */
    if (control_idle(step))
        loop_stop(step->loop);
    else
        retry_soon(step);
}

void finish_format_cancel(const char *what, const char *node, const char *when, const char *why,
                          struct str *out)
{
    str_printf(out, STEPD_ERROR "*** %s ON %s CANCELLED AT %s", what, node, when);
    if (why && *why && strcmp(why, "CANCELLED") != 0)
        str_printf(out, " DUE TO %s", why);
    str_puts(out, " ***\n");
}

static void format_why(const struct step *step, const char *why, struct str *out)
{
    char when[TIME_TEXT_MAX], what[64];

    if (step->is_batch)
        snprintf(what, sizeof(what), "JOB %u", step->job_id);
    else
        snprintf(what, sizeof(what), "STEP %s", step->name);
    finish_format_cancel(what, step->node, time_format_date(time(NULL), "", when), why, out);
}

static void print_step_cancelled(struct step *step, const char *why)
{
    _cleanup_str_ struct str line = STR_INIT;

    if (step->cancel_unsaid)
        return;
    format_why(step, why, &line);
    journal_say(step, str_cstr(&line));
}

/* An srun without a connection to us gets the text in its answer, which adds the prefix
   "slurmstepd: error: ". */
static void fail_start(struct step *step, const char *why)
{
    _cleanup_str_ struct str line = STR_INIT;
    const char *text = err_text(ERR_CREDENTIAL_REVOKED);

    if (why && (step->is_batch || (step->srun && step->srun_was_up))) {
        print_step_cancelled(step, why);
    } else if (why && !step->cancel_unsaid) {
        format_why(step, why, &line);
        line.len -= line.len > 0; /* without the line end */
        text = str_cstr(&line) + strlen(STEPD_ERROR);
    }
    start_failed(step, ERR_CREDENTIAL_REVOKED, text);
}

/* A script is ended when its output is open, so that the reason can be written there, or when the
 * grace period is over. */
static void terminate_starting(struct step *step, uint32_t grace_sec, const char *why)
{
    int64_t at = loop_mono_ms() + (int64_t)grace_sec * 1000;

    if (!grace_sec || !why || !step->is_batch || !step->left || step->fail_code) {
        fail_start(step, why);
        return;
    }
    if (!step->end_why || at < step->kill_at_ms) {
        step->kill_at_ms = at;
        set_patience(step, (int64_t)grace_sec * 1000);
    }
    if (!step->end_why || *why) {
        free(step->end_why);
        step->end_why = mem_strdup(why);
    }
}

void finish_terminate_early(struct step *step)
{
    if (step_is_starting(step) && step->end_why)
        fail_start(step, step->end_why);
}

void finish_terminate(struct step *step, uint32_t grace_sec, const char *why)
{
    int64_t at = loop_mono_ms() + (int64_t)grace_sec * 1000;
    bool is_first = !step_is_ordered(step);

    if (step_is_starting(step)) {
        terminate_starting(step, grace_sec, why);
        return;
    }
    if (step_has_ended(step)) /* nothing is left to end; srun still gets what was written */
        return;
    step_advance(step, STEP_ON_END_ORDERED);
    if (why && !step->is_extern && (is_first || (*why && !step->why_said))) {
        print_step_cancelled(step, why);
        step->why_said = true;
    }
    if (is_first)
        journal_tell(step, LOG_LVL_INFO, "it is ended, with SIGKILL after %u s", grace_sec);
    if (why && !strcmp(why, "TIME LIMIT"))
        step->timed_out = true;
    step->halted = false;
    contain_go_on(step);
    if (!grace_sec) {
        finish_kill_all(step);
    } else if (is_first) {
        contain_signal_all(step, SIGCONT);
        contain_signal_all(step, SIGTERM);
    }
    if (!step->killed_at_ms && (is_first || at < step->kill_at_ms)) {
        step->kill_at_ms = at;
        set_patience(step, (int64_t)grace_sec * 1000);
    }
    if (step->is_extern)
        finish_check(step);
}

static void finish_format_memory(const struct step *step, const Pb__OverMemory *m, struct str *out)
{
    uint64_t peak_kib = m->has_peak_kib && m->peak_kib > m->used_kib ? m->peak_kib : m->used_kib;

    if (m->has_of_job && m->of_job)
        str_printf(out, "slurmstepd: error: Job %u", step->job_id);
    else
        str_printf(out, "slurmstepd: error: Step %s", step->name);
    str_printf(out, " exceeded memory limit (%llu > %llu), being killed\n",
               (unsigned long long)m->used_kib, (unsigned long long)m->limit_kib);
    str_printf(out, "slurmstepd: error: %s: limit %lluM, peak %lluM", step->node,
               (unsigned long long)m->limit_kib / KIB_PER_MIB,
               (unsigned long long)(peak_kib + KIB_PER_MIB - 1) / KIB_PER_MIB);
    if (m->most && *m->most)
        str_printf(out, ", most of it: %s", m->most);
    str_putc(out, '\n');
}

void finish_over_memory(struct step *step, const Pb__OverMemory *m)
{
    bool running = step_is_running(step) || (step->phase == STEP_KILLING && step->left);
    _cleanup_str_ struct str text = STR_INIT;

    finish_format_memory(step, m, &text);
    if (running && !step->out_of_memory)
        journal_say(step, str_cstr(&text));
    if (step->phase == STEP_RUNNING)
        step->out_of_memory = true;
    finish_terminate(step, 0, "");
}

#define LOOKS 10 /* checks within the time limit */
#define LET_GO_RETRY_MS 100

static size_t bytes_in_transit(const struct step *step)
{
    size_t sum = step->srun ? rpc_session_unread(step->srun) : 0;

    for (size_t i = 0; i < step->task_count; i++)
        sum += stream_left(&step->tasks[i].out) + stream_left(&step->tasks[i].err);
    return sum;
}

static void check_progress(void *ctx)
{
    struct step *step = ctx;
    int64_t patience_ms = (int64_t)step->drain_sec * 1000;
    size_t left = bytes_in_transit(step);

    if (!stream_is_stuck(&step->drain, left, loop_mono_ms(), patience_ms)) {
        loop_timer_set(step->drain.timer, patience_ms / LOOKS);
        return;
    }
    if (left)
        journal_error(step,
                      "step %s: %zu bytes of output are given up: its srun has taken none of them "
                      "for %u seconds since the step ended",
                      step->name, left, step->drain_sec);
    loop_stop(step->loop);
}

/* Called by the loop, because a caller may be in a callback of a connection that is freed here. */
static void try_let_go(void *ctx)
{
    struct step *step = ctx;

    if (finish_is_unconfirmed(step) || !control_idle(step))
        loop_timer_set(step->drain.let_go_timer, LET_GO_RETRY_MS);
    else
        control_done(step);
}

void finish_let_go(struct step *step)
{
    step->drain.let_go = true;
    if (!step_is_draining(step))
        return;
    if (!step->drain.let_go_timer)
        step->drain.let_go_timer = loop_timer_new(step->loop, try_let_go, step);
    loop_timer_set(step->drain.let_go_timer, 0);
}

void finish_drain_done(struct step *step)
{
    loop_timer_free(step->drain.timer);
    loop_timer_free(step->drain.let_go_timer);
}

void finish_drain(struct step *step)
{
    assert(step_is_draining(step) && !step->drain.timer);
    step->drain.left = bytes_in_transit(step);
    step->drain.moved_at_ms = loop_mono_ms();
    step->drain.timer = loop_timer_new(step->loop, check_progress, step);
    loop_timer_set(step->drain.timer, (int64_t)step->drain_sec * 1000 / LOOKS);
    if (step->drain.let_go)
        finish_let_go(step);
}
