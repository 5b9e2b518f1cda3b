/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/gate.h"

#include "sched/plan.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

/* Nodes that it requires are not configured any more: nobody waits for it. */
static enum reason gate_required_nodes(const struct plan *p, const struct job *j)
{
    (void)p;
    return j->want.req_gone ? REASON_REQ_NODE_NOT_AVAIL : REASON_NONE;
}

/* Of a job that was accepted for nodes with the features that may come. */
static enum reason gate_constraint(const struct plan *p, const struct job *j)
{
    const struct cluster *c = p->cluster;
    if (!j->want.constraint || !c->conf->sched.ignore_constraint_validation)
        return REASON_NONE;
    _cleanup_bitset_ struct bitset *candidates = select_candidates(c, j);
    bool is_met = select_fits_idle(c, j, candidates) || select_possible(c, j, NULL) != 0;
    return is_met ? REASON_NONE : REASON_CONSTRAINTS;
}

static enum reason gate_array_throttle(const struct plan *p, const struct job *j)
{
    (void)p;
    return array_has_room(j->array) ? REASON_NONE : REASON_JOB_ARRAY_TASK_LIMIT;
}

/* Whether the layers might have it, whatever nodes are free. */
static bool might_have_layers(const struct plan *p, const struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (license_is_layered(p->cluster, need) &&
            license_count_most(p->cluster, need) < plan_need(j).nodes)
            return false;
    return true;
}

/* The layers have what it needs on as many nodes as it needs, were all nodes usable: for nodes that
 * are down or drained the planner has its own reasons. */
static bool has_layers(const struct plan *p, const struct job *j, const struct resv *in)
{
    _cleanup_bitset_ struct bitset *set = select_candidates(p->cluster, j);
    _cleanup_(license_view_done) struct license_view v = {0};
    const struct free_view *view =
        license_view_init(&v, &p->claims, p->cluster, j, in, p->now_sec, &p->cluster->pool.now);
    resv_restrict(in, set);
    return license_may_have_nodes(p->cluster, j, view, set, plan_need(j).nodes);
}

/* In one of those it may run in. */
static bool has_layers_somewhere(const struct plan *p, const struct job *j)
{
    const struct resv *in;
    for (size_t i = 0; resv_place(j, i, &in); i++)
        if (license_may_start(&p->claims, p->cluster, j, in, p->now_sec) && has_layers(p, j, in))
            return true;
    return false;
}

static enum reason gate_licenses(const struct plan *p, const struct job *j)
{
    bool licensed = license_may_start_somewhere(&p->claims, p->cluster, j, p->now_sec);
    if (licensed && license_needs_layers(p->cluster, j))
        licensed = might_have_layers(p, j) &&
                   (plan_note(p, j)->unfit || !plan_might_fit(p, j) || has_layers_somewhere(p, j));
    return licensed ? REASON_NONE : REASON_LICENSES;
}

#define REASONS_MOST 2 /* that a gate can give */

static const struct {
    const char *name;
    enum reason (*find)(const struct plan *p, const struct job *j);
    bool keeps_place;
    enum reason reasons[REASONS_MOST]; /* REASON_NONE behind the last one */
} gates[] = {
#define GATE_START(name, find, keeps_place, ...) {#name, find, keeps_place, {__VA_ARGS__}},
#include "cluster/job/reason.def"
};
#define GATES (sizeof(gates) / sizeof(gates[0]))

enum reason gate_of_start(const struct plan *p, const struct job *j, bool *keeps_place)
{
    for (size_t i = 0; i < GATES; i++) {
        enum reason reason = gates[i].find(p, j);
        *keeps_place = reason && gates[i].keeps_place;
        if (reason)
            return reason;
    }
    return REASON_NONE;
}

const char *gate_ask(const struct plan *p, const struct job *j, size_t row, enum reason *reason)
{
    if (row >= GATES)
        return NULL;
    *reason = gates[row].find(p, j);
    for (size_t i = 0; i < REASONS_MOST && !*reason; i++)
        if (gates[row].reasons[i] == j->reason)
            *reason = j->reason;
    return gates[row].name;
}
