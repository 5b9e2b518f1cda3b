/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmd"
#include <assert.h>

#include "base/args.h"
#include "base/log.h"
#include "base/step_id.h"
#include "rpc/reply.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/early.h"
#include "slurmd/job/launch.h"
#include "slurmd/job/prepare.h"
#include "slurmd/node/script.h"
#include "slurmd/step/step.h"

/* For prologs without a time limit: the prologs of other nodes may take up to this multiple of the
 * time of this node's prolog, within these bounds. */
#define PROLOG_TIMES 10
#define PROLOG_LEAST_MS (300 * 1000)
#define PROLOG_MOST_MS (3600 * 1000)
#define MESSAGES 3 /* round trips between the end of the last prolog and the commit */

struct usage_held {
    size_t bytes, steps;
};

static void add_attempt_use(const struct attempt *a, struct usage_held *sum)
{
    vec_foreach (&a->waiting, l)
        sum->bytes += (*l)->message.len + (*l)->cred.len;
    vec_foreach (&a->steps, s)
        sum->bytes += (*s)->held_bytes;
    sum->steps += a->waiting.len + a->steps.len;
}

static int check_limits(const char *what, unsigned id, struct usage_held now, size_t bytes,
                        size_t bytes_most, size_t steps_most, const struct slurmd *d,
                        struct err *err)
{
    if (now.bytes + bytes > bytes_most)
        return err_set(err, -ERR_LIMIT,
                       "launches of %s %u that have not started their tasks hold %zu KiB on node "
                       "%s, and %zu KiB are the most: start fewer at a time",
                       what, id, now.bytes >> 10, d->name, bytes_most >> 10);
    if (now.steps >= steps_most)
        return err_set(err, -ERR_LIMIT,
                       "%s %u has %zu steps on node %s, and may have no more at a time", what, id,
                       now.steps, d->name);
    return 0;
}

int prepare_check_limits(const struct slurmd *d, const Pb__Cred *cred, size_t bytes,
                         struct err *err)
{
    struct usage_held of_job = {0}, of_user = {0};
    int rc;

    for (const struct attempt *a = d->attempts; a; a = a->hh.next) {
        if (a->key.id == cred->job_id)
            add_attempt_use(a, &of_job);
        if (a->note.about->uid == cred->uid)
            add_attempt_use(a, &of_user);
    }
    rc = check_limits("job", cred->job_id, of_job, bytes, LAUNCH_JOB_BYTES, LAUNCH_JOB_STEPS, d,
                      err);
    return rc ? rc
              : check_limits("user", cred->uid, of_user, bytes, LAUNCH_USER_BYTES,
                             LAUNCH_USER_STEPS, d, err);
}

int prepare_check_args(const Pb__LaunchTasks *m, struct err *err)
{
    return args_check_bytes(args_bytes(m->argv, m->n_argv) + args_bytes(m->env, m->n_env), err);
}

int64_t prepare_commit_ms(const struct conf *c, int64_t prepared_ms)
{
    int64_t prolog_ms = script_limit_sec(c, false) * 1000;

    if (!prolog_ms) {
        prolog_ms = prepared_ms < PROLOG_MOST_MS ? prepared_ms * PROLOG_TIMES : PROLOG_MOST_MS;
        prolog_ms = prolog_ms > PROLOG_LEAST_MS ? prolog_ms : PROLOG_LEAST_MS;
        prolog_ms = prolog_ms < PROLOG_MOST_MS ? prolog_ms : PROLOG_MOST_MS;
    }
    return prolog_ms + MESSAGES * 1000 * (int64_t)c->message_timeout_sec;
}

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
    l->commit_ms = prepare_commit_ms(a->d->conf, loop_mono_ms() - l->since_ms);
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
