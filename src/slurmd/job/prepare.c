/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/prepare.h"

#include <assert.h>

#include "slurmd/job/attempt_life.h"
#include "slurmd/job/early.h"
#include "slurmd/job/launch.h"
#include "slurmd/job/launch_limits.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"
#include "base/step_id.h"

static struct launch *find_awaiting_commit(struct slurmd *d, uint64_t call, struct attempt **job,
                                           size_t *place)
{
    for (struct attempt *a = d->attempts; a; a = a->hh.next)
        for (size_t i = 0; i < a->waiting.len; i++) {
            struct launch *l = a->waiting.data[i];

            if (l->awaits_commit && rpc_call_is_joined(d->server, l->call, call)) {
                *job = a;
                *place = i;
                return l;
            }
        }
    return NULL;
}

static void on_commit_late(void *ctx)
{
    struct launch *l = ctx;
    struct slurmd *d = l->owner;
    struct attempt *a = attempt_find(d, l->attempt.id, l->attempt.restarts);
    _cleanup_free_ char *text =
        mem_printf("the launch was prepared on node %s, and not committed within %lld s", d->name,
                   (long long)(l->commit_ms / 1000));

    for (size_t i = 0; i < a->waiting.len; i++)
        if (a->waiting.data[i] == l) {
            vec_remove(&a->waiting, i);
            break;
        }
    launch_fail(d, l, ERR_TIMEOUT, text, false);
    attempt_check_left(a);
}

void prepare_await_commit(struct attempt *a, struct launch *l)
{
    l->owner = a->d;
    l->commit_timer = loop_timer_new(a->d->loop, on_commit_late, l);
    l->commit_ms = launch_limits_commit_ms(a->d->conf, loop_mono_ms() - l->since_ms);
    loop_timer_set(l->commit_timer, l->commit_ms);
}

void prepare_commit(struct slurmd *d, uint64_t call)
{
    struct attempt *a;
    size_t place;
    struct launch *l = find_awaiting_commit(d, call, &a, &place);

    if (!l)
        return;
    assert(l->phase != LAUNCH_PREPARED || l->commit_timer);
    l->awaits_commit = false;
    loop_timer_free(take_ptr(l->commit_timer));
    /* The user is looked up again, because the first lookup may be old. */
    if (l->phase == LAUNCH_PREPARED) {
        l->phase = LAUNCH_QUEUED;
        launch_go(d, l);
    }
}

void prepare_gone(struct slurmd *d, uint64_t call)
{
    struct attempt *a;
    size_t place;
    struct launch *l = find_awaiting_commit(d, call, &a, &place);

    if (!l || l->call != call) /* several callers share the launch, and one of them has gone */
        return;
    l->call = rpc_call_heir(d->server, call);
    if (l->call)
        return;
    log_verbose("step %s was prepared and is no longer wanted",
                STEP_ID_TEXT(l->attempt.id, l->step_id));
    vec_remove(&a->waiting, place);
    early_forget(a, l->step_id);
    launch_free(l);
    attempt_check_left(a);
}
