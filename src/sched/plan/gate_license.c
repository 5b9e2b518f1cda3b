/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gate of licences, and of pools that are tied to nodes, whatever nodes are free. */
#include "cluster/job/license_tied.h"
#include "sched/plan/failed.h"
#include "sched/plan/gate.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

/* Whether the licences of the cluster and the tied pools might have it, whatever nodes are free.
 * 'tied' gets whether it needs tied pools. */
static bool might_have_licenses(const struct plan *p, const struct job *j, bool *tied)
{
    bool of_cluster = false;
    uint32_t nodes = plan_need(j).nodes;
    *tied = false;
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_tied(p->cluster, need)) {
            of_cluster = true;
            continue;
        }
        *tied = true;
        if (license_count_most(p->cluster, need) < nodes)
            return false;
    }
    return !of_cluster || license_may_start_somewhere(&p->claims, p->cluster, j, p->now_sec);
}

/* The tied pools have what it needs on as many nodes as it needs, were all nodes usable: for nodes
 * that are down or drained the planner has its own reasons. */
static bool has_tied(const struct plan *p, const struct job *j, const struct resv *in)
{
    _cleanup_bitset_ struct bitset *set = select_candidates(p->cluster, j);
    _cleanup_(license_view_done) struct license_view v = {0};
    const struct free_view *view =
        license_view_init(&v, &p->claims, p->cluster, j, in, p->now_sec, &p->cluster->pool.now);
    resv_restrict(in, set);
    return license_may_have_nodes(p->cluster, j, view, set, plan_need(j).nodes);
}

/* In one of those it may run in. */
static bool has_tied_somewhere(const struct plan *p, const struct job *j)
{
    const struct resv *in;
    for (size_t i = 0; resv_place(j, i, &in); i++)
        if (license_may_start(&p->claims, p->cluster, j, in, p->now_sec) && has_tied(p, j, in))
            return true;
    return false;
}

/* The same, with answers for all jobs of a class first. */
static bool may_have_tied(const struct plan *p, const struct job *j)
{
    enum select_gate gate =
        select_tied_gate(&p->claims, p->cluster, j, plan_tied_kinds(p, j), plan_need(j).nodes);
    if (gate != SELECT_GATE_UNKNOWN)
        return gate == SELECT_GATE_OPEN;
    return !failed_has_closed(p, j) && has_tied_somewhere(p, j);
}

enum reason gate_licenses(const struct plan *p, const struct job *j)
{
    bool tied;
    if (!j->want.licenses.list.len)
        return REASON_NONE;
    bool licensed = might_have_licenses(p, j, &tied);
    if (licensed && tied)
        licensed = plan_note(p, j)->unfit || !plan_might_fit(p, j) || may_have_tied(p, j);
    return licensed ? REASON_NONE : REASON_LICENSES;
}
