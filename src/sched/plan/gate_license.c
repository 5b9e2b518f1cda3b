/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gate of licences, and of pools that are tied to nodes, whatever nodes are free. */
#include "cluster/job/license_tied.h"
#include "sched/plan/failed.h"
#include "sched/plan/gate.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

struct needs { /* kinds of licences that a job needs */
    bool tied, of_cluster;
};

/* Whether the licences of the cluster and the tied pools might have it, whatever nodes are free. */
static bool might_have_licenses(const struct plan *p, const struct job *j, struct needs *needs)
{
    uint32_t nodes = plan_need(j).nodes;
    *needs = (struct needs){0};
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_tied(p->cluster, need)) {
            needs->of_cluster = true;
            continue;
        }
        needs->tied = true;
        if (license_count_most(p->cluster, need) < nodes)
            return false;
    }
    return !needs->of_cluster || license_may_start_somewhere(&p->claims, p->cluster, j, p->now_sec);
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

/* Whether the notes of the look are about this job: not a component, nor one of several
 * alternatives. */
static bool is_noted(const struct plan *p, const struct job *j)
{
    return p->look->of == j && !p->asks && !j->in_set && !j->want.licenses.any;
}

/* The same, with answers for all jobs of a class first. */
static bool may_have_tied(const struct plan *p, const struct job *j, bool of_cluster)
{
    struct plan_look *look = p->look;
    bool noted = is_noted(p, j), might_do;
    if (noted && plan_note(p, j)->lacks_licenses)
        return false;
    enum select_gate gate = select_tied_gate(&p->claims, p->cluster, j, plan_tied_kinds(p, j),
                                             plan_need(j).nodes, &might_do);
    if (noted) {
        look->has_tied = true;
        look->is_open = gate == SELECT_GATE_OPEN && !of_cluster;
        look->is_closed = gate == SELECT_GATE_CLOSED;
        look->might_have_tied = might_do;
    }
    if (gate != SELECT_GATE_UNKNOWN)
        return gate == SELECT_GATE_OPEN;
    return !failed_has_closed(p, j) && has_tied_somewhere(p, j);
}

/* Within a pass and until something becomes free, pools only have less: a gate that the class of
 * the job closed stays closed, and one that it opened stays open as long as no pool has less and
 * the claims are the same. */
static bool is_known_open(const struct plan *p, const struct job *j)
{
    const struct plan_note *note = plan_note(p, j);
    return note->open_changes && note->open_changes == p->cluster->licenses.changes &&
           note->open_claims == p->claims.version;
}

enum reason gate_licenses(const struct plan *p, const struct job *j)
{
    struct needs needs;
    if (!j->want.licenses.list.len || (is_noted(p, j) && is_known_open(p, j)))
        return REASON_NONE;
    bool licensed = might_have_licenses(p, j, &needs);
    if (licensed && needs.tied)
        licensed = plan_note(p, j)->unfit || !plan_might_fit(p, j) ||
                   may_have_tied(p, j, needs.of_cluster);
    return licensed ? REASON_NONE : REASON_LICENSES;
}

void gate_note_licenses(struct plan *p, const struct job *j)
{
    const struct plan_look *look = p->look;
    if (!look->has_tied || !is_noted(p, j))
        return;
    struct plan_note *note = plan_note_change(p, j);
    note->lacks_licenses = look->is_closed;
    note->lacks_tied = look->is_closed || !look->might_have_tied;
    note->open_changes = look->is_open ? p->cluster->licenses.changes : 0;
    note->open_claims = p->claims.version;
}

bool gate_lacks_tied(const struct plan *p, const struct job *j)
{
    const struct plan_look *look = p->look;
    if (!is_noted(p, j))
        return false;
    return look->has_tied ? !look->might_have_tied : plan_note(p, j)->lacks_tied;
}
