/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the components of a set could ever start together: their minimum demands are compared
 * with the configuration, for all components that are limited to the same nodes, for each pair of
 * components, and for each division among fabrics and blocks of the network. Everything that is not
 * disproved may fit.
 */
#include <assert.h>

#include "cluster/node/topo.h"
#include "sched/plan/joint.h"
#include "sched/plan/joint_demand.h"
#include "sched/select/select.h"

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The network restricts a component if it has several fabrics, or if the component has segments. */
static void find_bounds(const struct cluster *c, const struct job *j, struct demand *d)
{
    const struct topo *topo = select_topo(c, j);
    if (select_has_segments(topo) && j->want.segment && d->least_nodes > j->want.segment) {
        d->segment = j->want.segment;
        d->segments_apart = j->want.segments_apart;
    }
    d->topo = topo && (topo->roots > 1 || d->segment) ? topo : NULL;
}

/* In several partitions the component may have different properties, so the demand is weaker. */
static struct demand find_demand(const struct cluster *c, const struct job *j, bool in_one)
{
    const struct request *r = &j->want;
    bool known = in_one || !j->partitions, alone = known && !r->shared;
    bool counts = alone && !r->overcommit;
    /* The component uses no other nodes. */
    bool named = r->req && bitset_count(r->req) >= r->max_nodes;
    struct demand d = {.nodes = named ? bitset_dup(r->req) : joint_candidates(c, j, in_one),
                       .least_nodes = known ? plan_need(j).nodes : r->min_nodes,
                       .cpus = counts ? (uint64_t)r->tasks * r->cpus_per_task : 0,
                       .gres = alone ? &r->gres : NULL,
                       .tasks = known ? r->tasks : 0,
                       .whole = alone && r->exclusive};
    if (alone) {
        d.node_amounts = select_least(r, counts ? r->cpus_per_task : 0);
        d.amounts = amounts_times(&d.node_amounts, (uint32_t)d.least_nodes);
        struct amounts by_cpus = select_least(r, d.cpus);
        amounts_raise(&d.amounts, &by_cpus);
    }
    if (known)
        find_bounds(c, j, &d);
    return d;
}

/* --- all components -----------------------------------------------------------------------------
 */

static uint64_t count_on(const struct node_kind *k, uint64_t mask, size_t kinds)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < kinds; i++)
        sum += mask >> i & 1 ? k->gres_total[i] : 0;
    return sum;
}

/* Returns the wanted count of generic resources whose kinds are within the mask. */
static uint64_t count_wanted(const struct demand *d, uint64_t mask, bool on_a_node)
{
    uint64_t sum = 0;
    for (size_t i = 0; d->gres && i < d->gres->list.len; i++) {
        const struct gres_want *w = &d->gres->list.data[i];
        if (w->mask & ~mask)
            continue;
        uint64_t all = most_of(w->per_job, w->per_task * d->tasks);
        sum += on_a_node ? w->per_node : most_of(all, w->per_node * d->least_nodes);
    }
    return sum;
}

static bool has_gres(const struct cluster *c, const struct bitset *nodes,
                     const struct demand *demands, uint32_t count, uint64_t mask)
{
    uint64_t have = 0, want = 0;
    bitset_foreach (nodes, i)
        have += count_on(&c->pool.kinds.data[c->pool.kind[i]], mask, c->pool.gres_kinds);
    for (uint32_t i = 0; i < count; i++)
        if (bitset_contains(nodes, demands[i].nodes))
            want += count_wanted(&demands[i], mask, false);
    return want <= have;
}

/* Whether no earlier component is limited to the same nodes. */
static bool is_first_of(const struct bitset *nodes, const struct demand *demands, uint32_t at,
                        uint64_t mask)
{
    for (uint32_t i = 0; i < at; i++)
        for (size_t k = 0; bitset_contains(nodes, demands[i].nodes) && demands[i].gres &&
                           k < demands[i].gres->list.len;
             k++)
            if (demands[i].gres->list.data[k].mask == mask)
                return false;
    return true;
}

bool joint_has_enough(const struct cluster *c, const struct bitset *nodes,
                      const struct demand *demands, uint32_t count)
{
    uint64_t whole = 0, shared = 0, cpus = 0;
    struct amounts wanted = {0};
    assert(nodes);
    for (uint32_t i = 0; i < count; i++) {
        const struct demand *d = &demands[i];
        if (!bitset_contains(nodes, d->nodes))
            continue;
        cpus += d->cpus;
        amounts_add(&wanted, &d->amounts);
        if (d->whole)
            whole += d->least_nodes;
        else if (d->least_nodes > shared)
            shared = d->least_nodes;
        for (size_t k = 0; d->gres && k < d->gres->list.len; k++)
            if (is_first_of(nodes, demands, i, d->gres->list.data[k].mask) &&
                !has_gres(c, nodes, demands, count, d->gres->list.data[k].mask))
                return false;
    }
    uint64_t have_cpus = 0;
    struct amounts have = {0};
    bitset_foreach (nodes, i) {
        const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[i]];
        have_cpus += k->cpus;
        amounts_add(&have, &k->amounts);
    }
    return whole + shared <= bitset_count(nodes) && cpus <= have_cpus &&
           amounts_are_within(&wanted, &have);
}

/* --- pairs --------------------------------------------------------------------------------------
 */

static bool share_kind(const struct cluster *c, const struct node_kind *k, const struct demand *a,
                       const struct demand *b)
{
    struct amounts both = a->node_amounts;
    amounts_add(&both, &b->node_amounts);
    if (!amounts_are_within(&both, &k->amounts))
        return false;
    for (size_t i = 0; a->gres && i < a->gres->list.len; i++) {
        uint64_t mask = a->gres->list.data[i].mask;
        if (count_wanted(a, mask, true) + count_wanted(b, mask, true) >
            count_on(k, mask, c->pool.gres_kinds))
            return false;
    }
    return true;
}

bool joint_fits_beside(const struct cluster *c, const struct demand *a, const struct demand *b)
{
    _cleanup_bitset_ struct bitset *all = bitset_dup(a->nodes);
    uint64_t shared = 0;
    bitset_or(all, b->nodes);
    if (a->least_nodes + b->least_nodes <= bitset_count(all))
        return true;
    bitset_foreach (a->nodes, i)
        shared += !a->whole && !b->whole && bitset_test(b->nodes, (size_t)i) &&
                  share_kind(c, &c->pool.kinds.data[c->pool.kind[i]], a, b);
    return a->least_nodes + b->least_nodes <= bitset_count(all) + shared;
}

/* Whether no earlier component may use the same nodes. */
static bool has_own_nodes(const struct demand *demands, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (bitset_equal(demands[i].nodes, demands[at].nodes))
            return false;
    return true;
}

/* Whether the first 'count' components could fit together. */
static bool could_fit_first(const struct cluster *c, const struct demand *demands, uint32_t count)
{
    _cleanup_bitset_ struct bitset *all = bitset_new(c->nodes.len);
    for (uint32_t i = 0; i < count; i++)
        bitset_or(all, demands[i].nodes);
    bool could = joint_has_enough(c, all, demands, count);
    for (uint32_t i = 0; could && i < count; i++)
        could = !has_own_nodes(demands, i) || joint_has_enough(c, demands[i].nodes, demands, count);
    for (uint32_t i = 0; could && i < count; i++)
        for (uint32_t k = i + 1; could && k < count; k++)
            could = joint_fits_beside(c, &demands[i], &demands[k]);
    return could && joint_can_divide(c, demands, count);
}

bool joint_could_fit_on(const struct plan *p, const struct job *leader, const struct bitset *nodes,
                        uint32_t *at)
{
    struct demand demands[JOB_SET_MAX] = {0};
    uint32_t count = job_set_count(leader), first = 2;
    for (uint32_t i = 0; i < count; i++) {
        demands[i] = find_demand(p->cluster, joint_component(p, leader, i), i == 0);
        if (nodes)
            bitset_and(demands[i].nodes, nodes);
    }
    bool could = could_fit_first(p->cluster, demands, count);
    while (!could && at && could_fit_first(p->cluster, demands, first))
        first++;
    if (!could && at)
        *at = first - 1;
    for (uint32_t i = 0; i < count; i++)
        bitset_free(demands[i].nodes);
    return could;
}

bool joint_could_fit(const struct plan *p, const struct job *leader, uint32_t *at)
{
    return joint_could_fit_on(p, leader, NULL, at);
}
