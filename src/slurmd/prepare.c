/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/prepare.h"

#include <assert.h>

#include "slurmd/early.h"
#include "slurmd/launch.h"
#include "slurmd/launch_limits.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"
#include "base/step_id.h"

static struct launch *find_awaiting_commit(struct slurmd *d, uint64_t call, struct job **job,
                                           size_t *place)
{
    for (struct job *j = d->jobs; j; j = j->hh.next)
        for (size_t i = 0; i < j->waiting.len; i++) {
            struct launch *l = j->waiting.data[i];

            if (l->awaits_commit && rpc_call_is_joined(d->server, l->call, call)) {
                *job = j;
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
    struct job *j = job_find(d, l->job.id, l->job.restarts);
    _cleanup_free_ char *text =
        mem_printf("the launch was prepared on node %s, and not committed within %lld s", d->name,
                   (long long)(l->commit_ms / 1000));

    for (size_t i = 0; i < j->waiting.len; i++)
        if (j->waiting.data[i] == l) {
            vec_remove(&j->waiting, i);
            break;
        }
    launch_fail(d, l, ERR_TIMEOUT, text, false);
    job_check_left(j);
}

void prepare_await_commit(struct job *j, struct launch *l)
{
    l->owner = j->d;
    l->commit_timer = loop_timer_new(j->d->loop, on_commit_late, l);
    l->commit_ms = launch_limits_commit_ms(j->d->conf, loop_mono_ms() - l->since_ms);
    loop_timer_set(l->commit_timer, l->commit_ms);
}

void prepare_commit(struct slurmd *d, uint64_t call)
{
    struct job *j;
    size_t place;
    struct launch *l = find_awaiting_commit(d, call, &j, &place);

    if (!l)
        return;
    assert(l->phase != LAUNCH_PREPARED || l->commit_timer);
    l->awaits_commit = false;
    loop_timer_free(take_ptr(l->commit_timer));
    if (l->phase == LAUNCH_PREPARED) { /* the user is looked up again: it may have been long ago */
        l->phase = LAUNCH_QUEUED;
        launch_go(d, l);
    }
}

void prepare_gone(struct slurmd *d, uint64_t call)
{
    struct job *j;
    size_t place;
    struct launch *l = find_awaiting_commit(d, call, &j, &place);

    if (!l || l->call != call) /* of several who have asked one is gone */
        return;
    l->call = rpc_call_heir(d->server, call);
    if (l->call)
        return;
    log_verbose("step %s was prepared and is no longer wanted",
                STEP_ID_TEXT(l->job.id, l->step_id));
    vec_remove(&j->waiting, place);
    early_forget(j, l->step_id);
    launch_free(l);
    job_check_left(j);
}
