/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The decision of a pass about a job set. 'sum' is its leader with the licences of all components.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "cluster/job/license_tied.h"
#include "sched/plan/blocked.h"
#include "sched/plan/depth.h"
#include "sched/plan/gate.h"
#include "sched/plan/joint.h"
#include "sched/plan/planned_start.h"
#include "sched/plan/preempt.h"
#include "sched/plan/set_turn.h"
#include "sched/select/resv.h"

/* Returns the reason why a component must not start, whatever nodes are free. REASON_NONE: all may
 * start. */
static enum reason find_closed_gate(const struct plan *p, const struct job *leader,
                                    const struct job *sum, bool *keeps_place)
{
    *keeps_place = false;
    for (uint32_t i = 0; i < job_set_count(sum); i++) {
        const struct job *j = joint_component(p, sum, i);
        if (!j)
            return REASON_BAD_CONSTRAINTS;
        if (i && !joint_is_variant(p, j) && !job_partitions_is_queued(j))
            return joint_reason_of_absent(j);
        enum reason closed = i ? gate_of_start(p, j, keeps_place) : REASON_NONE;
        if (closed)
            return closed;
    }
    return joint_gate_of_start(p, sum, license_needs_tied(p->cluster, leader), keeps_place);
}

/* Records in the pass that all components have begun. */
static void begin_jointly(struct plan *p, const struct job *leader, const struct decision *d)
{
    planned_start_remove(p, leader);
    if (!p->timeline || p->asks)
        return;
    calendar_start(&p->timeline->calendar, leader, &d->where);
    vec_foreach (&d->more.list, at) {
        struct job_copy room;
        const struct job *j = cluster_find_job(p->cluster, at->id);
        calendar_start(&p->timeline->calendar, job_partitions_view(j, at->part, &room), &at->where);
    }
}

/* Sets the first reason found for one of the components. True: see blocked_explain(). */
static bool explain_blocked_set(const struct plan *p, const struct job *leader, bool first,
                                struct decision *d)
{
    bool kept_out = false;
    for (uint32_t i = 0; i < job_set_count(leader) && !d->detail; i++) {
        const struct job *j = joint_component(p, leader, i);
        if (first)
            kept_out =
                blocked_explain(p, j, &job_set_component(leader, i)->want.licenses, d) || kept_out;
        else
            blocked_explain_required(p, j, d);
        if (d->reason == REASON_BAD_CONSTRAINTS)
            return false;
    }
    const struct job *one = joint_component(p, leader, 0);
    bool open = !d->detail || (d->reason == REASON_RESOURCES && blocked_find_refusal(p, one));
    if (first && !p->asks && open && !kept_out && !joint_could_fit(p, leader, NULL)) {
        d->reason = REASON_BAD_CONSTRAINTS;
        free(take_ptr(d->detail));
    }
    return kept_out;
}

/* The planned start has its own choice of alternatives. */
static int64_t keep_licenses_of_set(struct plan *p, const struct job *leader, const struct job *sum,
                                    bool placed, int64_t start_at)
{
    if (!placed || !start_at || !joint_has_alternatives(leader))
        return plan_keep_licenses(p, sum, placed, start_at);
    struct joint_choice found = {0};
    struct job_copy copy;
    joint_choice_read(&found, vec_last(&p->heads).license, &vec_last(&p->heads).more);
    joint_licenses_init(&copy, p->cluster, job_set_component(leader, 0), &found);
    start_at = plan_keep_licenses(p, &copy.job, placed, start_at);
    joint_licenses_done(&copy);
    return start_at;
}

/* Without backfill a component is behind a job that waits in its partition. */
static bool is_kept_out(const struct plan *p, const struct job *leader)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++)
        if (set_turn_is_kept_out(p, joint_component(p, leader, i)))
            return true;
    return false;
}

static void wait_jointly(struct plan *p, const struct job *leader, const struct job *sum,
                         struct decision *d)
{
    bool served = depth_is_served(p, leader);
    bool first = leader->resv_asked ? !p->asks && resv_block(p->resv, leader) : !p->blocked;
    bool kept_out = explain_blocked_set(p, leader, first, d);
    if (first && d->reason == REASON_BAD_CONSTRAINTS)
        return;
    if (d->reason == REASON_RESOURCES && is_kept_out(p, leader))
        d->reason = REASON_PRIORITY;
    if (first && !leader->resv_asked)
        p->blocked = p->backfill || (served && !kept_out);
    bool place = plan_may_have_place(p, leader, first);
    if (place)
        plan_reserve_place(p, leader, d);
    if (served && (first || place))
        keep_licenses_of_set(p, leader, sum, place, d->start_at);
}

/* Whether the set starts by preemption. */
static bool displace_for_set(struct plan *p, const struct job *leader, const struct job *sum,
                             struct decision *d)
{
    if (p->asks || !depth_is_served(p, leader) ||
        !preempt_look_set(p, leader, sum, &d->preempt_look_at))
        return false;
    d->reason = REASON_RESOURCES;
    d->victims = p->victims.data;
    d->n_victims = p->victims.len;
    license_claim(&p->claims, p->cluster, sum, p->now_sec, p->now_sec, &p->work);
    p->blocked = p->blocked || !p->backfill;
    return true;
}

static void decide_on_set(struct plan *p, const struct job *leader, const struct job *sum,
                          bool counts, struct decision *d)
{
    bool keeps_place;
    enum reason closed = find_closed_gate(p, leader, sum, &keeps_place);
    if (closed) {
        d->reason = closed;
        bool place = keeps_place && plan_may_have_place(p, leader, false);
        if (place)
            plan_reserve_place(p, leader, d);
        if (keeps_place)
            d->start_at = keep_licenses_of_set(p, leader, sum, place, d->start_at);
        return;
    }
    if (counts && !depth_takes(p, leader))
        return;
    bool behind = !p->backfill && resv_is_blocked(p->resv, leader);
    if (behind || !joint_can_start(p, leader, d)) {
        if (!displace_for_set(p, leader, sum, d))
            wait_jointly(p, leader, sum, d);
        return;
    }
    begin_jointly(p, leader, d);
    license_begin(&p->claims, p->cluster, sum, d->in,
                  joint_tied_nodes(p->cluster, sum, d->license, &d->where, &d->more), p->now_sec);
    d->kind = PLAN_START;
    d->reason = REASON_NONE;
    d->backfilled = p->blocked;
}

void joint_look(struct plan *p, const struct job *leader, bool counts, struct decision *d)
{
    struct joint_choice choice;
    struct job_copy sum;
    joint_choice_begin(&choice, p);
    joint_choose(p, leader, &choice);
    d->license = choice.of[0];
    joint_licenses_init(&sum, p->cluster, leader, &choice);
    decide_on_set(p, joint_component(p, leader, 0), &sum.job, counts, d);
    joint_licenses_done(&sum);
    joint_choice_end(&choice, p);
}
