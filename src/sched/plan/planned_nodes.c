/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/planned_nodes.h"

struct count {
    uint64_t nodes, tasks;
};

static void count_node(const struct cluster *c, const struct spare_need *need,
                       const struct free_view *view, size_t node, struct count *n)
{
    const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[node]];
    uint32_t tasks = need->whole && !view->whole[node]
                         ? 0
                         : spare_tasks(need, view->units[node] * k->cpus_per_unit);
    n->nodes += tasks > 0;
    n->tasks += tasks;
}

/* Adds as few as possible of the nodes with free resources. */
static void add_open(const struct cluster *c, const struct spare_need *need,
                     const struct free_view *view, const struct bitset *open, struct count n,
                     struct bitset *set)
{
    bitset_foreach (open, i) {
        if (n.nodes >= need->nodes && n.tasks >= need->tasks)
            return;
        bitset_set(set, (size_t)i);
        count_node(c, need, view, (size_t)i, &n);
    }
}

void planned_nodes_choose(const struct cluster *c, const struct job *j,
                          const struct bitset *allowed, const struct free_view *view,
                          struct selection *where)
{
    struct spare_need need = plan_need(j);
    struct selection other = {0};
    struct count n = {0};
    _cleanup_bitset_ struct bitset *set = bitset_dup(allowed);
    _cleanup_bitset_ struct bitset *open = bitset_dup(allowed);
    bitset_and(open, c->pool.spare.open);
    if (bitset_empty(open))
        return;
    bitset_andnot(set, open);
    if (j->want.req) {
        bitset_or(set, j->want.req);
        bitset_and(set, allowed);
        bitset_andnot(open, set);
    }
    bitset_foreach (set, i)
        count_node(c, &need, view, (size_t)i, &n);
    add_open(c, &need, view, open, n, set);
    if (select_nodes(c, j, set, view, &other) == 0) {
        struct selection keep = *where;
        *where = other;
        other = keep;
    }
    select_done(&other);
}
