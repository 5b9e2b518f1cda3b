/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When and where a hypothetical job would start: the planner's decision at its place, otherwise the
 * timeline's. */
#include "sched/plan/gate.h"
#include "sched/plan/planned_start.h"
#include "sched/select/select.h"
#include "sched/why/why_state.h"

void why_guest_forget(struct why *w)
{
    select_done(&w->found.where);
    w->found = (struct why_start){0};
}

static void keep_found(struct why *w, int64_t at_sec, struct selection *where)
{
    select_done(&w->found.where);
    w->found.at_sec = at_sec;
    w->found.where = *where;
    *where = (struct selection){0};
}

/* Whether a gate keeps the job out and nothing is planned behind it. */
static bool is_kept_out(const struct why *w, const struct job *j, enum why_rule *rule)
{
    bool keeps_place;
    enum reason closed = gate_of_start(&w->plan, j, &keeps_place);
    return !keeps_place && why_rule_of_reason(closed, rule);
}

/* Whether no node can serve it in the present configuration. */
static bool is_hopeless(struct why *w, const struct job *j)
{
    const struct cluster *c = w->cluster;
    _cleanup_bitset_ struct bitset *allowed = why_allowed_nodes(w, j);
    if (j->want.req && !bitset_contains(c->pool.usable, j->want.req))
        w->rule = WHY_REQ_NODE_NOT_AVAIL;
    else if (is_kept_out(w, j, &w->rule))
        return true;
    else if (!select_fits_idle(c, j, allowed))
        w->rule = select_possible(c, j, NULL) != 0 ? WHY_BAD_CONSTRAINTS : WHY_UNUSABLE;
    else
        return false;
    return true;
}

/* Removes the guest's planned start, the last one, so that it does not block the guest itself. */
static void take_head(struct why *w, int64_t at_sec)
{
    struct plan *p = &w->plan;
    struct plan_head *own = p->heads.len ? &vec_last(&p->heads) : NULL;
    if (!own || own->id)
        return;
    if (at_sec && own->where.shares.len)
        keep_found(w, at_sec, &own->where);
    select_done(&own->where);
    p->heads.len--;
}

bool why_guest_visit(struct why *w, const struct job *j)
{
    struct plan *p = &w->plan;
    struct decision d;
    bool blocked = p->blocked;
    if (!is_hopeless(w, j))
        w->rule = why_find_rule(w, j, j);
    w->found.rule = w->rule;
    if (w->rule >= WHY_SHUTDOWN && !why_is_of_common(w->rule)) /* the planner is not asked */
        return w->rule == WHY_BEGIN_TIME || w->rule == WHY_RESERVATION;
    if (w->rule == WHY_UNUSABLE)
        return false;
    plan_visit(p, j, &d);
    take_head(w, d.start_at);
    if (d.kind == PLAN_START)
        keep_found(w, w->now_sec, &d.where);
    else if (p->room_at.shares.len)
        keep_found(w, w->now_sec, &p->room_at);
    w->found.makes_room = d.kind == PLAN_WAIT && w->found.at_sec == w->now_sec;
    p->blocked = blocked;
    plan_decision_done(&d);
    free(d.detail);
    return !w->found.at_sec;
}

/* A place on the timeline at the present time does not count: jobs before it still block the
 * job. */
void why_guest_found(struct why *w, int64_t at_sec)
{
    bool any = w->where.shares.len;
    int64_t at = at_sec ? at_sec : w->first_laid ? w->first_laid : w->now_sec;
    w->found.bound = any && (w->too_many || w->partly || !at_sec);
    if (any)
        keep_found(w, at, &w->where);
}

void why_take_where(struct why *w, struct selection *where)
{
    *where = w->found.where;
    w->found.where = (struct selection){0};
}

const struct why_start *why_start(const struct why *w)
{
    return &w->found;
}
