/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/life/drain.h"

#include <assert.h>

#include "slurmstepd/life/control.h"
#include "slurmstepd/life/end.h"
#include "slurmstepd/stream/journal.h"
#include "slurmstepd/stream/stream.h"

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

    if (end_is_open(step) || !control_idle(step))
        loop_timer_set(step->drain.let_go_timer, LET_GO_RETRY_MS);
    else
        control_done(step);
}

void drain_let_go(struct step *step)
{
    step->drain.let_go = true;
    if (!step_is_draining(step))
        return;
    if (!step->drain.let_go_timer)
        step->drain.let_go_timer = loop_timer_new(step->loop, try_let_go, step);
    loop_timer_set(step->drain.let_go_timer, 0);
}

void drain_done(struct step *step)
{
    loop_timer_free(step->drain.timer);
    loop_timer_free(step->drain.let_go_timer);
}

void drain_begin(struct step *step)
{
    assert(step_is_draining(step) && !step->drain.timer);
    step->drain.left = bytes_in_transit(step);
    step->drain.moved_at_ms = loop_mono_ms();
    step->drain.timer = loop_timer_new(step->loop, check_progress, step);
    loop_timer_set(step->drain.timer, (int64_t)step->drain_sec * 1000 / LOOKS);
    if (step->drain.let_go)
        drain_let_go(step);
}
