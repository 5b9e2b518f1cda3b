/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/drain.h"

#include "slurmstepd/journal.h"
#include "slurmstepd/stream.h"

#define LOOKS 10 /* within the patience */

bool drain_is_stuck(struct drain *d, size_t left, int64_t now_ms, int64_t patience_ms)
{
    if (left != d->left) {
        d->left = left;
        d->moved_at_ms = now_ms;
    }
    return now_ms - d->moved_at_ms >= patience_ms;
}

static size_t on_their_way(const struct step *step)
{
    size_t sum = step->srun ? rpc_session_unread(step->srun) : 0;

    for (size_t i = 0; i < step->task_count; i++)
        sum += stream_left(&step->tasks[i].out) + stream_left(&step->tasks[i].err);
    return sum;
}

static void look(void *ctx)
{
    struct step *step = ctx;
    int64_t patience_ms = (int64_t)step->drain_sec * 1000;
    size_t left = on_their_way(step);

    if (!drain_is_stuck(&step->drain, left, loop_mono_ms(), patience_ms)) {
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

void drain_begin(struct step *step)
{
    step->drain.left = on_their_way(step);
    step->drain.moved_at_ms = loop_mono_ms();
    step->drain.timer = loop_timer_new(step->loop, look, step);
    loop_timer_set(step->drain.timer, (int64_t)step->drain_sec * 1000 / LOOKS);
}
