/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the components of a set could ever start together: their minimum demands are compared
 * with the configuration, for all components that are limited to the same nodes, for each pair of
 * components, for each node that several of them require, and for each division among fabrics and
 * blocks of the network. Everything that is not disproved may fit.
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
                       .required = r->req,
                       .request = alone ? r : NULL,
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

/* --- required nodes ------------------------------------------------------------------------------
 */

/* Returns the required nodes that no other component may use. False: two components, of which one
 * allows no other on its nodes, require the same node. */
static bool find_closed_nodes(const struct demand *demands, uint32_t count, struct bitset *closed)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!demands[i].whole || !demands[i].required)
            continue;
        if (bitset_intersects(closed, demands[i].required))
            return false;
        bitset_or(closed, demands[i].required);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!demands[i].whole && demands[i].required &&
            bitset_intersects(closed, demands[i].required))
            return false;
    return true;
}

/* Returns the minimum of units that the component has on a required node. */
static uint32_t count_required_units(const struct node_kind *k, const struct demand *d)
{
    const struct request *r = d->request;
    if (!r || r->overcommit || d->whole)
        return 0;
    return select_units(r, k, d->least_nodes == 1 && r->max_nodes == 1 ? r->tasks : 1, 0).units;
}

static bool requires_node(const struct demand *d, size_t node)
{
    return d->required && bitset_test(d->required, node);
}

/* Whether the node has enough for each pair, and in total for all, of the components that require
 * it. */
static bool has_enough_required(const struct cluster *c, size_t node, const struct demand *demands,
                                uint32_t count)
{
    const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[node]];
    struct amounts wanted = {0};
    uint64_t units = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!requires_node(&demands[i], node))
            continue;
        units += count_required_units(k, &demands[i]);
        amounts_add(&wanted, &demands[i].node_amounts);
        for (uint32_t other = 0; other < i; other++)
            if (requires_node(&demands[other], node) &&
                !share_kind(c, k, &demands[i], &demands[other]))
                return false;
    }
    return units <= k->units && amounts_are_within(&wanted, &k->amounts);
}

/* Whether the nodes that several components require have enough for these. */
static bool share_required(const struct cluster *c, const struct demand *demands, uint32_t count)
{
    _cleanup_bitset_ struct bitset *once = bitset_new(c->nodes.len);
    _cleanup_bitset_ struct bitset *again = bitset_new(c->nodes.len);
    for (uint32_t i = 0; i < count; i++) {
        if (!demands[i].required)
            continue;
        _cleanup_bitset_ struct bitset *both = bitset_dup(demands[i].required);
        bitset_and(both, once);
        bitset_or(again, both);
        bitset_or(once, demands[i].required);
    }
    bitset_foreach (again, node)
        if (!has_enough_required(c, (size_t)node, demands, count))
            return false;
    return true;
}

/* --- all of this --------------------------------------------------------------------------------
 */

/* Whether no earlier component may use the same nodes. */
static bool has_own_nodes(const struct demand *demands, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (bitset_equal(demands[i].nodes, demands[at].nodes))
            return false;
    return true;
}

/* Whether the components could fit together; none may use nodes that another one has alone. */
static bool could_fit_all(const struct cluster *c, const struct demand *demands, uint32_t count)
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

/* Whether the first 'count' components could fit together. */
static bool could_fit_first(const struct cluster *c, const struct demand *demands, uint32_t count)
{
    struct demand rest[JOB_SET_MAX];
    _cleanup_bitset_ struct bitset *closed = bitset_new(c->nodes.len);
    if (!find_closed_nodes(demands, count, closed) || !share_required(c, demands, count))
        return false;
    if (bitset_count(closed) == 0)
        return could_fit_all(c, demands, count);
    for (uint32_t i = 0; i < count; i++) {
        rest[i] = demands[i];
        rest[i].nodes = bitset_dup(demands[i].nodes);
        bitset_andnot(rest[i].nodes, closed);
        if (!demands[i].whole || !demands[i].required)
            continue;
        _cleanup_bitset_ struct bitset *own = bitset_dup(demands[i].nodes);
        bitset_and(own, demands[i].required);
        bitset_or(rest[i].nodes, own);
    }
    bool could = could_fit_all(c, rest, count);
    for (uint32_t i = 0; i < count; i++)
        bitset_free(rest[i].nodes);
    return could;
}

/* All components together do not fit. */
static struct joint_clash find_clash(const struct cluster *c, const struct demand *demands,
                                     uint32_t count)
{
    uint32_t fits = 1, beyond = count;
    while (beyond - fits > 1) {
        uint32_t middle = fits + (beyond - fits) / 2;
        if (could_fit_first(c, demands, middle))
            fits = middle;
        else
            beyond = middle;
    }
    struct joint_clash clash = {.at = fits, .beside = JOINT_SEVERAL};
    for (uint32_t i = 0; i < fits && clash.beside == JOINT_SEVERAL; i++) {
        const struct demand pair[] = {demands[i], demands[fits]};
        if (!could_fit_first(c, pair, 2))
            clash.beside = i;
    }
    return clash;
}

static bool could_fit_demands(const struct cluster *c, struct demand *demands, uint32_t count,
                              struct joint_clash *clash)
{
    bool could = could_fit_first(c, demands, count);
    if (!could && clash)
        *clash = find_clash(c, demands, count);
    for (uint32_t i = 0; i < count; i++)
        bitset_free(demands[i].nodes);
    return could;
}

bool joint_could_fit_on(const struct plan *p, const struct job *leader, const struct bitset *nodes,
                        struct joint_clash *clash)
{
    struct demand demands[JOB_SET_MAX] = {0};
    uint32_t count = job_set_count(leader);
    for (uint32_t i = 0; i < count; i++) {
        demands[i] = find_demand(p->cluster, joint_component(p, leader, i), i == 0);
        if (nodes)
            bitset_and(demands[i].nodes, nodes);
    }
    return could_fit_demands(p->cluster, demands, count, clash);
}

bool joint_could_fit(const struct plan *p, const struct job *leader, struct joint_clash *clash)
{
    return joint_could_fit_on(p, leader, NULL, clash);
}

bool joint_could_ever_fit(const struct cluster *c, const struct job *leader,
                          struct joint_clash *clash)
{
    struct demand demands[JOB_SET_MAX] = {0};
    uint32_t count = job_set_count(leader);
    for (uint32_t i = 0; i < count; i++)
        demands[i] = find_demand(c, job_set_component(leader, i), false);
    return could_fit_demands(c, demands, count, clash);
}

void joint_clash_put(const struct joint_clash *clash, struct str *out)
{
    str_printf(out, "component %u never fits beside ", clash->at);
    if (clash->beside == JOINT_SEVERAL)
        str_puts(out, "those before it");
    else
        str_printf(out, "component %u", clash->beside);
}
