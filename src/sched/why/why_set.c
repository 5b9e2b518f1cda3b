/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The component that blocks a job set, found by decisions of the planner about some of the
 * components: the first one that is not in the queue; else the first one that could not start
 * alone; else the first one that does not fit beside the preceding ones; else the first one that
 * would delay other jobs.
 */
#include "base/pb.h"
#include "sched/plan/gate.h"
#include "sched/plan/joint.h"
#include "sched/why/why_state.h"

/* Visited nodes, for each component: larger sets get no predicted start. */
#define ESTIMATE_LOOKS 200000

const struct job *why_leader(const struct why *w, const struct job *j)
{
    if (w->q.guest || !j->in_set || !job_set_is_whole(j))
        return j;
    return job_set_component(j, 0);
}

const struct job *why_subject(const struct why *w, const struct job *leader)
{
    bool component = leader->in_set && w->set.at && job_set_is_whole(leader);
    return component ? job_set_component(leader, w->set.at) : leader;
}

/* Asks about a set with only these of its components; 'as' is one of them, or NULL. */
static void ask_set(struct why *w, const struct job *leader, const struct plan_variant *variant,
                    struct decision *d)
{
    w->plan.variant = *variant;
    plan_ask(&w->plan, leader, d);
    w->plan.variant = (struct plan_variant){0};
}

/* Makes the copy of a component a member of the set. */
static void enter_set(const struct job *subject, struct job_copy *as)
{
    as->job.set = subject->set;
    as->job.set_offset = subject->set_offset;
    as->job.in_set = true;
}

void why_ask(struct why *w, const struct job *leader, struct job_copy *as, struct decision *d)
{
    const struct job *subject = why_subject(w, leader);
    if (!subject->in_set || !job_set_is_whole(subject)) {
        plan_ask(&w->plan, &as->job, d);
        return;
    }
    enter_set(subject, as);
    const struct plan_variant variant = {.as = &as->job};
    ask_set(w, subject == leader ? &as->job : leader, &variant, d);
}

static bool fits_set(struct why *w, const struct job *leader, struct plan_variant variant)
{
    struct decision d;
    ask_set(w, leader, &variant, &d);
    bool yes = d.kind == PLAN_START;
    plan_decision_done(&d);
    free(d.detail);
    return yes;
}

/* Returns the component alone, with the alternative licence that it would wait for. */
static const struct job *view_awaited(struct why *w, const struct job *j, struct job_copy *room)
{
    return license_view_alternative(j, why_choose_awaited(w, j), room);
}

/* Returns the first component that is not queued or has a closed gate; the number of components:
 * none. */
static uint32_t find_closed(struct why *w, const struct job *leader)
{
    bool keeps_place;
    struct job_copy room;
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct job *j = i ? job_set_component(leader, i) : leader;
        if (j->state != PB__JOB_STATE__PENDING || !job_partitions_is_queued(j) ||
            (leader->part && gate_of_start(&w->plan, view_awaited(w, j, &room), &keeps_place)))
            return i;
    }
    return job_set_count(leader);
}

/* Returns true if the blocking component must be searched. */
static bool check_whole_set(struct why *w, const struct job *leader)
{
    struct why_set *set = &w->set;
    uint32_t count = job_set_count(leader);
    set->at = find_closed(w, leader);
    if (set->at < count)
        return false;
    set->at = 0;
    if (!joint_has_partitions(&w->plan, leader))
        return false;
    struct joint_clash clash = {0};
    set->never = !joint_could_fit(&w->plan, leader, &clash);
    set->at = clash.at;
    set->beside = clash.beside;
    if (set->never || w->q.announced || fits_set(w, leader, (struct plan_variant){0}))
        return false;
    set->unusable = !joint_could_fit_on(&w->plan, leader, w->cluster->pool.usable, &clash);
    set->at = clash.at;
    if (set->unusable)
        return false;
    set->at = 0;
    set->look = SET_ALONE;
    return true;
}

static bool look_at_one(struct why *w, const struct job *leader, bool now)
{
    struct why_set *set = &w->set;
    if (!fits_set(w, leader, (struct plan_variant){.first = set->at, .count = 1, .now = now}))
        return false;
    set->at++;
    return true;
}

/* Finds how many leading components fit together, so that one more does not. */
static bool check_components_together(struct why *w, const struct job *leader, bool now)
{
    struct why_set *set = &w->set;
    uint32_t middle = set->low + (set->high - set->low) / 2;
    if (set->high - set->low < 2) {
        set->at = set->low; /* the component behind these */
        return false;
    }
    if (fits_set(w, leader, (struct plan_variant){.count = middle, .now = now}))
        set->low = middle;
    else
        set->high = middle;
    return true;
}

bool why_set_find(struct why *w, const struct job *leader)
{
    struct why_set *set = &w->set;
    uint32_t count = job_set_count(leader);
    if (!leader->in_set || !job_set_is_whole(leader) || w->q.guest)
        return false;
    switch (set->look) {
    case SET_WHOLE:
        return check_whole_set(w, leader);
    case SET_ALONE:
        if (!look_at_one(w, leader, true))
            return false;
        if (set->at < count)
            return true;
        set->at = 0;
        set->together = !fits_set(w, leader, (struct plan_variant){.now = true});
        set->low = set->together; /* each one fits alone now */
        set->high = count;
        set->look = set->together ? SET_BESIDE : SET_KEPT;
        return true;
    case SET_BESIDE:
        return check_components_together(w, leader, true);
    case SET_KEPT:
        return check_components_together(w, leader, false);
    }
    return false;
}

/* Returns the first time at which all components may begin. */
static int64_t find_begin(const struct plan *p, const struct job *leader)
{
    int64_t latest = 0;
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct job *j = joint_component(p, leader, i);
        latest = j && j->begin_at > latest ? j->begin_at : latest;
    }
    return latest;
}

/* Copies the nodes of the queried component. */
static void take_own_nodes(struct why *w, struct joint *joint)
{
    select_done(&w->where);
    vec_foreach (&joint->parts, part) {
        if (part->job->id != w->q.job_id)
            continue;
        w->where = part->where;
        part->where = (struct selection){0};
    }
}

/* A search with one way to choose tied pools, see joint_count_ways(). */
struct way {
    struct joint joint;
    struct joint_choice choice;
};

/* Returns the earliest start from that time on; 0: none. */
static int64_t begin_way(struct way *way, uint32_t number, struct plan *p, struct timeline *t,
                         const struct job *leader, int64_t from, bool queued)
{
    joint_choice_begin(&way->choice, p);
    int64_t due = joint_choose_earliest(p, leader, number, &way->choice);
    joint_begin(&way->joint, p, joint_component(p, leader, 0));
    vec_foreach (&way->joint.parts, part)
        part->in_one = part->in_one || !queued;
    return due ? joint_find_start(&way->joint, t, from > due ? from : due) : 0;
}

static void end_way(struct way *way, struct plan *p)
{
    joint_end(&way->joint);
    joint_choice_end(&way->choice, p);
}

static int64_t find_earliest(struct why *w, const struct job *first)
{
    int64_t from = find_begin(&w->plan, first), at = 0;
    from = from > w->not_before ? from : w->not_before;
    select_clear(&w->where);
    for (uint32_t way = 0; way < joint_count_ways(&w->plan, first); way++) {
        struct way in;
        int64_t found = begin_way(&in, way, &w->plan, w->timeline, first, from, true);
        if (found && (!at || found < at)) {
            at = found;
            take_own_nodes(w, &in.joint);
        }
        end_way(&in, &w->plan);
    }
    return at;
}

int64_t why_set_estimate(struct why *w, const struct job *leader, struct job_copy *as)
{
    const struct job *subject = why_subject(w, leader);
    if (!job_set_is_whole(subject) ||
        (uint64_t)job_set_count(leader) * w->cluster->nodes.len > ESTIMATE_LOOKS)
        return 0;
    enter_set(subject, as);
    w->plan.variant.as = &as->job;
    const struct job *first = subject == leader ? &as->job : leader;
    int64_t at = joint_has_partitions(&w->plan, first) ? find_earliest(w, first) : 0;
    w->plan.variant = (struct plan_variant){0};
    return at;
}

void why_set_put(const struct why *w, const struct job *subject)
{
    Pb__WhyReply *m = w->answer;
    if (!subject->set)
        return;
    SET(m, set_id, job_set_id(subject));
    SET(m, set_offset, subject->set_offset);
    SET(m, set_count, job_set_count(subject));
    if (w->set.never && w->set.beside != JOINT_SEVERAL)
        SET(m, set_beside, w->set.beside);
}

static void take_placement(const struct cluster *c, const struct joint *joint, struct bitset *nodes,
                           uint32_t *cpus)
{
    bitset_zero(nodes);
    *cpus = 0;
    vec_foreach (&joint->parts, part)
        vec_foreach (&part->where.shares, share) {
            bitset_set(nodes, share->node);
            *cpus += share->units * c->nodes.data[share->node]->cpus_per_unit;
        }
}

int64_t why_find_set_start(const struct cluster *c, const struct job *leader, int64_t now_sec,
                           struct bitset *nodes, uint32_t *cpus)
{
    struct plan p;
    struct timeline t;
    int64_t at = 0, from = leader->begin_at > now_sec ? leader->begin_at : now_sec;
    if ((uint64_t)job_set_count(leader) * c->nodes.len > ESTIMATE_LOOKS)
        return 0;
    plan_begin(&p, c, NULL, now_sec, true);
    timeline_init(&t, c, now_sec);
    timeline_set_resv(&t, p.resv);
    t.claims = &p.claims;
    for (uint32_t way = 0; way < joint_count_ways(&p, leader); way++) {
        struct way in;
        int64_t found = begin_way(&in, way, &p, &t, leader, from, false);
        if (found && (!at || found < at)) {
            at = found;
            take_placement(c, &in.joint, nodes, cpus);
        }
        end_way(&in, &p);
    }
    timeline_done(&t);
    plan_end(&p);
    return at;
}
