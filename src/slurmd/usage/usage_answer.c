/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who asks what is used, or by which processes: answered from a look that is new enough. */
#include <errno.h>

#include "base/step_id.h"
#include "slurmd/node/hw.h"
#include "slurmd/usage/adopted.h"
#include "slurmd/usage/counted.h"
#include "slurmd/usage/pids.h"
#include "slurmd/usage/usage_priv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define PIDS_FRESH_MS 100 /* processes that are told are no older */

static void reply_step(struct usage *u, const struct answer *a)
{
    Pb__StepUsageReply m = PB__STEP_USAGE_REPLY__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    m.steps = arena_alloc(&arena, (u->tally->steps.len + 1) * sizeof(*m.steps));
    vec_foreach (&u->tally->steps, at) {
        const struct tally_step *s = *at;
        Pb__StepUsage *one;

        if (s->job_id != a->job_id || (a->one_step && s->step_id != a->step_id))
            continue;
        one = arena_alloc(&arena, sizeof(*one));
        pb__step_usage__init(one);
        one->step_id = s->step_id;
        one->usage = arena_alloc(&arena, sizeof(*one->usage));
        pb__usage__init(one->usage);
        counted_time(u->d, s, one->usage);
        tally_view_step(s, &arena, one->usage);
        one->pid = arena_alloc(&arena, (u->tally->procs.len + 1) * sizeof(*one->pid));
        vec_foreach (&u->tally->procs, p)
            if (p->step == s && !p->is_shepherd)
                one->pid[one->n_pid++] = (uint32_t)p->pid;
        m.steps[m.n_steps++] = one;
    }
    rpc_reply(u->d->server, a->call, &m.base);
}

static void view_node(const struct usage *u, struct arena *arena, Pb__NodeUsage *m)
{
    m->name = u->d->name;
    m->has_now = m->has_free_mem_mib = m->has_cpu_load_centi = true;
    m->now = loop_wall_ms() / 1000;
    hw_load(&m->free_mem_mib, &m->cpu_load_centi);
    tally_view_node(u->tally, arena, m);
}

/* Kept until somebody has it: an answer that is lost loses nothing, and the same period comes
 * again.
 */
static int collect(struct usage *u, struct arena *arena)
{
    struct tally *t = u->tally;
    Pb__NodeUsage m = PB__NODE_USAGE__INIT;
    int rc;

    if (t->collected.len)
        return 0;
    view_node(u, arena, &m);
    pb_pack(&m.base, &t->collected);
    t->collected_period = t->period;
    tally_begin_period(t, m.now);
    rc = usage_save(u);
    if (rc)
        u->changed = true;
    return rc;
}

static void reply_collected(struct usage *u, const struct answer *a)
{
    struct tally *t = u->tally;
    _cleanup_arena_ struct arena arena;
    int rc;

    arena_init(&arena, 0);
    rc = collect(u, &arena);
    if (rc)
        rpc_reply_error(u->d->server, a->call, -rc, "what was counted cannot be written down");
    else
        rpc_reply_bytes(u->d->server, a->call, t->collected.data, t->collected.len, false);
}

static void reply_node(struct usage *u, const struct answer *a)
{
    Pb__NodeUsage m = PB__NODE_USAGE__INIT;
    _cleanup_arena_ struct arena arena;
    size_t kept = 0;

    arena_init(&arena, 0);
    view_node(u, &arena, &m);
    for (size_t i = 0; i < m.n_rows; i++)
        if (m.rows[i]->uid == a->uid || (a->all && (a->all_jobs || !m.rows[i]->job_id)))
            m.rows[kept++] = m.rows[i];
    m.n_rows = kept;
    rpc_reply(u->d->server, a->call, &m.base);
}

static void reply_pids(struct usage *u, const struct answer *a)
{
    Pb__NodePidsRequest ask = PB__NODE_PIDS_REQUEST__INIT;
    Pb__NodePids m = PB__NODE_PIDS__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    ask.has_job_id = a->one_job;
    ask.job_id = a->job_id;
    ask.has_step_id = a->one_step;
    ask.step_id = a->step_id;
    pids_view(u->tally, &ask, &arena, &m);
    if (!a->all)
        pids_hide(u->d, a->uid, &m);
    rpc_reply(u->d->server, a->call, &m.base);
}

void usage_answer_all(struct usage *u)
{
    if (u->changed)
        usage_save(u);
    vec_foreach (&u->answers, a) {
        if (a->pids)
            reply_pids(u, a);
        else if (a->job_id)
            reply_step(u, a);
        else if (a->collect)
            reply_collected(u, a);
        else
            reply_node(u, a);
    }
    vec_clear(&u->answers);
}

bool usage_may_wait(const struct answer *waiting, size_t count, uid_t uid, struct err *err)
{
    size_t own = 0;

    for (size_t i = 0; i < count; i++)
        own += waiting[i].uid == uid;
    if (count >= USAGE_ANSWERS_MAX)
        return !err_set(err, -ERR_BUSY, "%s: %zu questions about usage wait for an answer",
                        err_text(ERR_BUSY), count);
    if (own >= USAGE_ANSWERS_PER_USER)
        return !err_set(err, -ERR_BUSY,
                        "%s: %zu questions of user %u about usage wait for an answer",
                        err_text(ERR_BUSY), own, (unsigned)uid);
    return true;
}

static void answer_later(struct usage *u, const struct answer *a)
{
    struct err err = {0};

    if (!usage_may_wait(u->answers.data, u->answers.len, a->uid, &err)) {
        rpc_reply_error(u->d->server, a->call, -err.code, err.text);
        return;
    }
    vec_push(&u->answers, *a);
    if (usage_is_fresh(u, a->pids ? PIDS_FRESH_MS : USAGE_FRESH_MS) && !u->looking)
        usage_answer_all(u);
    else
        usage_look(u);
}

static bool may_see_all(const struct rpc_request *r)
{
    return r->roles & (RPC_WHO_ADMIN | RPC_WHO_OPERATOR);
}

static void refuse(struct slurmd *d, const struct rpc_request *r, int code)
{
    static struct log_limits refusals = {.burst = 60};

    if (log_allow_source(&refusals, r->who.uid))
        log_error("refused: uid %u (%s): %s: %s", (unsigned)r->who.uid, r->peer, r->rpc->name,
                  err_text(ERR_ACCESS));
    rpc_reply_error(d->server, r->call, code, NULL);
}

void usage_answer_step(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__StepUsageRequest *m = (const Pb__StepUsageRequest *)r->body;
    struct answer answer = {.call = r->call,
                            .uid = r->who.uid,
                            .job_id = m->job_id,
                            .step_id = m->step_id,
                            .one_step = m->has_step_id};
    const struct attempt *a = d->attempts;

    while (a && a->key.id != m->job_id)
        a = a->hh.next;
    if (!a)
        rpc_reply_error(d->server, r->call, ERR_NO_JOB, NULL);
    else if (r->who.uid != (uid_t)a->note.about->uid && !may_see_all(r))
        refuse(d, r, conf_is_private(d->conf, "jobs") ? ERR_NO_JOB : ERR_ACCESS);
    else
        answer_later(d->usage, &answer);
}

uint32_t usage_job_of(struct slurmd *d, pid_t pid)
{
    const struct tally_step *s = pids_find(d->usage->tally, pid, pids_parent);
    const struct attempt *a = s ? NULL : adopted_find(d, pid);

    return s ? s->job_id : a ? a->key.id : 0;
}

/* The step of one process is known without a look at all of them. */
static void answer_pid(struct slurmd *d, const struct rpc_request *r, pid_t pid)
{
    const struct tally_step *s = pids_find(d->usage->tally, pid, pids_parent);
    const struct attempt *adopter = s ? NULL : adopted_find(d, pid);
    Pb__StepPids one = PB__STEP_PIDS__INIT, *steps = &one;
    Pb__NodePids m = PB__NODE_PIDS__INIT;

    if (s || adopter) {
        one.job_id = s ? s->job_id : adopter->key.id;
        one.step_id = s ? s->step_id : STEP_ID_EXTERN;
        m.steps = &steps;
        m.n_steps = 1;
    }
    if (!may_see_all(r))
        pids_hide(d, r->who.uid, &m);
    rpc_reply(d->server, r->call, &m.base);
}

void usage_answer_pids(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__NodePidsRequest *m = (const Pb__NodePidsRequest *)r->body;
    struct answer a = {.call = r->call,
                       .uid = r->who.uid,
                       .all = may_see_all(r),
                       .pids = true,
                       .one_job = m->has_job_id,
                       .job_id = m->job_id,
                       .one_step = m->has_step_id,
                       .step_id = m->step_id};

    if (m->has_pid)
        answer_pid(d, r, (pid_t)(m->pid & INT32_MAX));
    else
        answer_later(d->usage, &a);
}

/* Somebody has what was collected. */
static int forget_collected(struct usage *u, uint64_t period)
{
    struct tally *t = u->tally;

    if (!t->collected.len || period != t->collected_period)
        return 0;
    str_clear(&t->collected);
    return usage_save(u);
}

void usage_answer_node(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__NodeUsageRequest *m = (const Pb__NodeUsageRequest *)r->body;
    struct answer a = {.call = r->call,
                       .uid = r->who.uid,
                       .collect = m->has_collect && m->collect,
                       .all = may_see_all(r) || !conf_is_private(d->conf, "usage"),
                       .all_jobs = may_see_all(r) || !conf_is_private(d->conf, "jobs")};

    if ((a.collect || m->has_have) && !(r->roles & RPC_WHO_ADMIN))
        refuse(d, r, ERR_ACCESS);
    else if (m->has_have && forget_collected(d->usage, m->have))
        rpc_reply_error(d->server, r->call, EIO, "what was counted cannot be written down");
    else
        answer_later(d->usage, &a);
}
