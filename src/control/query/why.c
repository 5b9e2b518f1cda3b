/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/query/why.h"

#include "base/pb.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/priority.h"
#include "control/life/resv.h"
#include "control/life/start.h"
#include "control/query/test_only.h"
#include "control/submit/access.h"

#define LINE_MOST 64     /* queued queries */
#define OF_USER 2        /* maximum of one user */
#define TURN_LOOKS 10000 /* visited nodes per query and turn */
#define TURN_STEPS 50    /* maximum steps per turn */
#define WAIT_TURNS 100   /* turns to wait for the end of a pass */

static void call_done(struct why_call *call)
{
    free(call->host);
    free(call->user_name);
    test_only_free(call->trial);
}

static void drop_first(struct control *c)
{
    why_free(take_ptr(c->why->now));
    c->why->waited = 0;
    call_done(&c->why->calls.data[0]);
    vec_remove(&c->why->calls, 0);
}

void why_begin_anew(struct control *c)
{
    why_free(take_ptr(c->why->now));
    if (c->why->calls.len && c->why->calls.data[0].trial)
        test_only_begin_anew(c->why->calls.data[0].trial);
}

void why_done(struct control *c)
{
    while (c->why->calls.len)
        drop_first(c);
    vec_done(&c->why->calls);
}

bool why_is_due(const struct control *c)
{
    return c->why->calls.len > 0;
}

bool why_call_gone(struct control *c, uint64_t call)
{
    for (size_t i = 0; i < c->why->calls.len; i++) {
        if (c->why->calls.data[i].call != call)
            continue;
        if (i == 0) {
            drop_first(c);
        } else {
            call_done(&c->why->calls.data[i]);
            vec_remove(&c->why->calls, i);
        }
        return true;
    }
    return false;
}

void why_enter(struct control *c, const struct why_call *call)
{
    struct why_call own = *call;
    size_t of_user = 0;
    vec_foreach (&c->why->calls, other)
        of_user += other->uid == call->uid;
    if (of_user < OF_USER && c->why->calls.len < LINE_MOST) {
        vec_push(&c->why->calls, own);
        return;
    }
    control_refuse_code(c, call->call, ERR_BACKOFF, NULL);
    call_done(&own);
}

void control_job_why(struct control *c, uint64_t call, const struct caller *who,
                     const Pb__WhyRequest *r)
{
    const struct job *j = cluster_find_job(c->cluster, r->job_id);
    if (!j || control_is_on_trial(j) || !control_shows_job(c, who, j))
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    else if (j->state != PB__JOB_STATE__PENDING)
        control_refuse_code(c, call, ERR_TRANSITION, "it is not pending");
    else
        why_enter(c, &(struct why_call){.call = call,
                                        .uid = who->uid,
                                        .gid = who->gid,
                                        .job_id = r->job_id,
                                        .is_operator = who->is_operator,
                                        .is_admin = who->is_admin,
                                        .host = mem_strdup(who->host),
                                        .user_name = mem_strdup(who->user_name)});
}

static struct caller caller_of(const struct why_call *call)
{
    return (struct caller){.uid = call->uid,
                           .gid = call->gid,
                           .is_operator = call->is_operator,
                           .is_admin = call->is_admin,
                           .host = call->host,
                           .user_name = call->user_name};
}

/* Finds other partitions to which the requester may move the job. */
static void find_parts(struct control *c, const struct why_call *call, const struct job *j,
                       struct why_question *q)
{
    _cleanup_arena_ struct arena arena;
    const struct caller who = caller_of(call);
    arena_init(&arena, 0);
    char *account = job_unpack_spec(j, &arena)->account;
    vec_foreach (&c->cluster->parts, at) {
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        struct part *p;
        spec.account = account;
        spec.partition = (char *)(*at)->conf.name;
        if ((j->in_set || !job_partitions_has(j, *at)) && (*at)->conf.state == CONF_PART_UP &&
            access_find_part(c, &who, NULL, &spec, &p, NULL) == 0)
            vec_push(&q->may, p);
    }
}

/* Returns its place in the queue. */
static int64_t find_queue_place(struct control *c, const struct job *j)
{
    int64_t priority = j->priority;
    if (job_partitions_is_queued(j))
        return priority; /* not queried */
    if (!j->rank.given)
        priority = priority_unbounded(c, j);
    priority = priority < 1 ? 1 : priority > UINT32_MAX ? UINT32_MAX : priority;
    return -priority;
}

static void begin_question(struct control *c, const struct job *j)
{
    const struct why_call *call = &c->why->calls.data[0];
    const struct job *leader = job_set_component(j, 0);
    struct why_question q = {.job_id = j->id,
                             .notes = &c->plan_notes,
                             .backfill = start_backfills(c),
                             .announced = c->announced,
                             .is_operator = call->is_operator,
                             .key = find_queue_place(c, leader ? leader : j),
                             .rank = &c->ranking->rule,
                             .rank_at_sec = c->ranking->at_sec};
    find_parts(c, call, j, &q);
    c->why->now = why_new(c->cluster, &q);
}

static bool is_shown(const struct control *c, const struct caller *who, uint32_t job_id)
{
    const struct job *j = cluster_find_job(c->cluster, job_id);
    return j && control_shows_job(c, who, j);
}

/* Returns a copy that only names jobs and reservations that the caller may see. */
static const Pb__WhyReply *hide_names(struct control *c, const struct caller *who,
                                      const Pb__WhyReply *all, struct arena *arena)
{
    _cleanup_str_ struct str packed = STR_INIT;
    pb_pack(&all->base, &packed);
    Pb__WhyReply *m = arena_unpack(arena, &pb__why_reply__descriptor, packed.data, packed.len);
    size_t kept = 0;
    size_t holders = 0, limitless = 0;
    for (size_t i = 0; m && i < m->n_holders; i++)
        if (is_shown(c, who, m->holders[i]->job_id))
            m->holders[holders++] = m->holders[i];
    if (m)
        m->n_holders = holders;
    for (size_t i = 0; m && i < m->n_without_limit; i++)
        if (is_shown(c, who, m->without_limit[i]))
            m->without_limit[limitless++] = m->without_limit[i];
    if (m)
        m->n_without_limit = limitless;
    for (size_t i = 0; m && i < m->n_ahead; i++)
        if (is_shown(c, who, m->ahead[i]->job_id))
            m->ahead[kept++] = m->ahead[i];
    if (m)
        m->n_ahead = kept;
    for (size_t i = kept = 0; m && i < m->n_reservations; i++) {
        const struct resv *r = resv_find(c->cluster, m->reservations[i]->name);
        if (r && resv_is_shown(c, who, r))
            m->reservations[kept++] = m->reservations[i];
    }
    if (m)
        m->n_reservations = kept;
    for (size_t g = 0; m && g < m->n_groups; g++) {
        Pb__WhyNodes *of = m->groups[g];
        kept = 0;
        for (size_t i = 0; i < of->n_holders; i++)
            if (is_shown(c, who, of->holders[i]->job_id))
                of->holders[kept++] = of->holders[i];
        of->n_holders = kept;
    }
    return m;
}

static void add_element(const struct control *c, uint32_t job_id, Pb__WhyReply *m,
                        struct arena *arena)
{
    const struct job *j = cluster_find_job(c->cluster, job_id);
    const char *name = j ? JOB_ID_TEXT(j) : "";
    bool is_known = !strchr(name, '_');
    for (size_t i = 0; i < m->n_elements; i++)
        is_known = is_known || m->elements[i]->job_id == job_id;
    if (is_known)
        return;
    Pb__WhyElement *e = arena_alloc(arena, sizeof(*e));
    pb__why_element__init(e);
    e->job_id = job_id;
    e->name = arena_strdup(arena, name);
    m->elements[m->n_elements++] = e;
}

/* Returns a copy with the names of array elements. */
static Pb__WhyReply name_elements(const struct control *c, const Pb__WhyReply *all,
                                  struct arena *arena)
{
    Pb__WhyReply m = *all;
    size_t most = m.n_holders + m.n_ahead + m.n_without_limit;
    for (size_t g = 0; g < m.n_groups; g++)
        most += m.groups[g]->n_holders;
    m.elements = arena_alloc(arena, (most + 1) * sizeof(*m.elements));
    for (size_t i = 0; i < m.n_holders; i++)
        add_element(c, m.holders[i]->job_id, &m, arena);
    for (size_t i = 0; i < m.n_ahead; i++)
        add_element(c, m.ahead[i]->job_id, &m, arena);
    for (size_t i = 0; i < m.n_without_limit; i++)
        add_element(c, m.without_limit[i], &m, arena);
    for (size_t g = 0; g < m.n_groups; g++)
        for (size_t i = 0; i < m.groups[g]->n_holders; i++)
            add_element(c, m.groups[g]->holders[i]->job_id, &m, arena);
    return m;
}

static void answer_first(struct control *c)
{
    uint64_t call = c->why->calls.data[0].call;
    const struct caller who = caller_of(&c->why->calls.data[0]);
    const Pb__WhyReply *reply = why_answer(c->why->now);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (reply && (control_hides(c, &who, "jobs") || control_hides(c, &who, "reservations")))
        reply = hide_names(c, &who, reply, &arena);
    if (!reply) {
        control_refuse_code(c, call, ERR_TRANSITION, "the job is no longer pending");
        return;
    }
    Pb__WhyReply named = name_elements(c, reply, &arena);
    c->env->reply(c->env->ctx, call, &named.base);
}

/* Does a step of the query. False: it is answered. */
static bool continue_call(struct control *c, const struct why_call *call)
{
    const struct job *j = cluster_find_job(c->cluster, call->job_id);
    if (!j) {
        control_refuse_code(c, call->call, ERR_NO_JOB, NULL);
        return false;
    }
    if (!c->why->now)
        begin_question(c, j);
    if (why_step(c->why->now, control_wall(c)))
        return true;
    answer_first(c);
    return false;
}

void why_turn(struct control *c)
{
    if (!c->why->calls.len)
        return;
    /* Jobs that a pass has not examined yet would be explained by an outdated state. */
    if ((c->planning || c->plan_wanted) && c->why->waited++ < WAIT_TURNS)
        return;
    const struct why_call *call = &c->why->calls.data[0];
    size_t steps = TURN_LOOKS / (c->cluster->nodes.len + 1) + 1;
    for (size_t i = 0; i < steps && i < TURN_STEPS; i++)
        if (!(call->trial ? test_only_step(c, call) : continue_call(c, call))) {
            drop_first(c);
            return;
        }
}
