/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes a request fits on: candidates by configuration, what each of them could take, a
 * choice among them (choose.c), and how the tasks are dealt out to the chosen ones.
 */
#include <string.h>

#include "sched/choose.h"
#include "sched/constraint.h"
#include "sched/plan.h"

void select_done(struct selection *s)
{
    vec_done(&s->shares);
}

/* --- configuration
 * --------------------------------------------------------------------------------- */

static uint64_t node_mem_wanted(const struct request *r, const struct node *n, uint32_t cpus)
{
    if (r->mem_node_mib == UINT64_MAX)
        return n->mem_mib;
    return r->mem_node_mib ? r->mem_node_mib : r->mem_cpu_mib * cpus;
}

/* The fewest CPUs the request takes of any node. With --ntasks, --ntasks-per-node is a maximum. */
static uint32_t least_cpus(const struct request *r)
{
    uint32_t tasks = r->ntasks_per_node && !r->tasks_given ? r->ntasks_per_node : 1;
    uint32_t cpus = r->overcommit ? 1 : tasks * r->cpus_per_task;
    return cpus > r->min_cpus ? cpus : r->min_cpus;
}

static bool could_run(const struct job *j, const struct node *n)
{
    const struct request *r = &j->want;
    uint32_t cpus = least_cpus(r);
    return !n->future && n->cpus >= cpus && j->part->conf.max_cpus_per_node >= cpus &&
           n->tmp_mib >= r->tmp_mib && node_mem_wanted(r, n, cpus) <= n->mem_mib &&
           (!r->features || constraint_match_any(n, r->features));
}

struct bitset *select_candidates(const struct cluster *c, const struct job *j)
{
    struct bitset *set = bitset_dup(j->part->nodes);
    if (j->want.exc)
        bitset_andnot(set, j->want.exc);
    bitset_foreach (set, i)
        if (!could_run(j, c->nodes.data[i]))
            bitset_unset(set, (size_t)i);
    return set;
}

struct bitset *select_usable(const struct cluster *c)
{
    struct bitset *set = bitset_new(c->nodes.len);
    vec_foreach (&c->nodes, n)
        if (node_is_usable(*n))
            bitset_set(set, (*n)->index);
    return set;
}

/* --- capacity
 * -------------------------------------------------------------------------------------- */

/* CPUs of the node that the job's partition may still use: MaxCPUsPerNode counts all its jobs. What
 * they will have given back in another view is not known by partition. */
static uint32_t part_cpus_left(const struct job *j, const struct free_view *view, uint32_t node)
{
    uint32_t most = j->part->conf.max_cpus_per_node, used = 0;
    if (most != UINT32_MAX && !view && j->part->used_cpus)
        used = j->part->used_cpus[node];
    return most > used ? most - used : 0;
}

/* CPUs of 'units' free units that tasks may use: whole units, as they are paid for in memory too.
 * Of a node of one's own all CPUs are taken, and memory bounds those that get tasks. */
static uint32_t cpus_fit(const struct request *r, const struct node *n, uint32_t units,
                         uint64_t mem_mib, uint32_t left)
{
    if (r->exclusive) {
        uint64_t by_mem = r->mem_cpu_mib ? mem_mib / r->mem_cpu_mib : n->cpus;
        return left < n->cpus ? 0 : by_mem < n->cpus ? (uint32_t)by_mem : n->cpus;
    }
    if (left / n->cpus_per_unit < units)
        units = left / n->cpus_per_unit;
    if (r->mem_cpu_mib) {
        uint64_t by_mem = mem_mib / r->mem_cpu_mib / n->cpus_per_unit;
        units = by_mem < units ? (uint32_t)by_mem : units;
    }
    return units * n->cpus_per_unit;
}

/* How many tasks fit on the node in this view; 0: none. 'sharing': units that others have, too. */
static uint32_t tasks_fit(const struct cluster *c, const struct job *j,
                          const struct free_view *view, uint32_t node, bool sharing)
{
    const struct node *n = c->nodes.data[node];
    const struct request *r = &j->want;
    uint32_t units = view ? view->units[node] : n->exclusive ? 0 : n->free_units;
    int64_t mem = view ? view->mem_mib[node] : (int64_t)(n->mem_mib - n->used_mem_mib);
    bool whole = view ? view->whole[node] : n->jobs == 0;
    if (sharing)
        units += share_room(n, !view ? n->use : view->use ? view->use[node] : NULL, j);
    if (r->exclusive && r->shared)
        whole = units == n->units;
    if (units == 0 || mem < 0 || (r->exclusive && !whole))
        return 0;
    if (r->mem_node_mib && node_mem_wanted(r, n, 0) > (uint64_t)mem)
        return 0;
    uint32_t cpus = cpus_fit(r, n, units, (uint64_t)mem, part_cpus_left(j, view, node));
    if (cpus == 0 || cpus < r->min_cpus)
        return 0;
    uint32_t tasks = r->overcommit ? r->tasks : cpus / r->cpus_per_task;
    if (tasks > c->conf->max_tasks_per_node)
        tasks = c->conf->max_tasks_per_node;
    if (!r->ntasks_per_node || tasks < r->ntasks_per_node)
        return r->ntasks_per_node && !r->tasks_given ? 0 : tasks;
    return r->ntasks_per_node;
}

static void add_share(const struct cluster *c, const struct job *j, uint32_t node, uint32_t tasks,
                      struct selection *out)
{
    const struct node *n = c->nodes.data[node];
    const struct request *r = &j->want;
    uint32_t cpus = r->overcommit ? 1 : tasks * r->cpus_per_task;
    cpus = cpus > r->min_cpus ? cpus : r->min_cpus;
    uint32_t units = r->exclusive ? n->units : (cpus + n->cpus_per_unit - 1) / n->cpus_per_unit;
    struct share s = {.node = node, .units = units ? units : 1};
    s.mem_mib = node_mem_wanted(r, n, s.units * n->cpus_per_unit);
    if (r->exclusive && s.mem_mib > n->mem_mib)
        s.mem_mib = n->mem_mib; /* a whole node has no more than it has */
    vec_push(&out->shares, s);
}

/* Deals the tasks out one node after the other, so that every chosen node gets at least one; where
 * the number of nodes was not asked for, one node is filled before the next. */
static void deal(const struct chooser *ch, const struct cluster *c, const struct job *j,
                 struct selection *out)
{
    const struct request *r = &j->want;
    uint32_t left = r->tasks > ch->count ? r->tasks - ch->count : 0;
    bool one_by_one = ch->min > 1 || ch->good > 1;
    uint32_t *got = mem_new_array(uint32_t, ch->fits->size + 1);
    bitset_foreach (ch->chosen, i) {
        got[i] = r->ntasks_per_node && !r->tasks_given ? r->ntasks_per_node : 1;
        if (!one_by_one) {
            uint32_t more = ch->tasks[i] - got[i] < left ? ch->tasks[i] - got[i] : left;
            got[i] += more;
            left -= more;
        }
    }
    for (bool moved = true; left && moved && one_by_one;) {
        moved = false;
        bitset_foreach (ch->chosen, i)
            if (left && got[i] < ch->tasks[i]) {
                got[i]++;
                left--;
                moved = true;
            }
    }
    bitset_foreach (ch->chosen, i)
        add_share(c, j, (uint32_t)i, got[i], out);
    free(got);
}

/* The request's numbers of nodes, and those of its partition. */
static void set_bounds(struct chooser *ch, const struct request *r, const struct conf_part *p)
{
    ch->need = r->tasks;
    ch->min = r->min_nodes > p->min_nodes ? r->min_nodes : p->min_nodes;
    ch->max = r->max_nodes < p->max_nodes ? r->max_nodes : p->max_nodes;
    ch->good = r->good_nodes < ch->max ? r->good_nodes : ch->max;
    ch->good = ch->good > ch->min ? ch->good : ch->min;
}

static int select_from(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                       const struct free_view *view, bool sharing, struct selection *out)
{
    struct chooser ch = {.required = j->want.req,
                         .contiguous = j->want.contiguous,
                         .fits = bitset_new(c->nodes.len),
                         .chosen = bitset_new(c->nodes.len),
                         .tasks = mem_new_array(uint32_t, c->nodes.len + 1),
                         .weight = mem_new_array(uint32_t, c->nodes.len + 1)};
    set_bounds(&ch, &j->want, &j->part->conf);
    bitset_foreach (allowed, i) {
        ch.tasks[i] = tasks_fit(c, j, view, (uint32_t)i, sharing);
        ch.weight[i] = c->nodes.data[i]->weight;
        if (ch.tasks[i])
            bitset_set(ch.fits, (size_t)i);
    }
    int rc = choose_nodes(&ch) ? 0 : -ERR_NODES_BUSY;
    if (rc == 0)
        deal(&ch, c, j, out);
    bitset_free(ch.fits);
    bitset_free(ch.chosen);
    free(ch.tasks);
    free(ch.weight);
    return rc;
}

/* What is free first; units that others have already only when that does not do. */
static int select_shared(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                         const struct free_view *view, struct selection *out)
{
    int rc = select_from(c, j, allowed, view, false, out);
    return rc != 0 && j->want.shared ? select_from(c, j, allowed, view, true, out) : rc;
}

int select_nodes(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                 const struct free_view *view, struct selection *out)
{
    uint32_t alternatives = constraint_alternatives(j->want.features);
    int rc = -ERR_NODES_BUSY;
    if (alternatives == 1)
        return select_shared(c, j, allowed, view, out);
    for (uint32_t which = 0; which < alternatives && rc != 0; which++) {
        _cleanup_bitset_ struct bitset *same = bitset_dup(allowed);
        bitset_foreach (allowed, i)
            if (!constraint_match(c->nodes.data[i], j->want.features, which))
                bitset_unset(same, (size_t)i);
        rc = select_shared(c, j, same, view, out);
    }
    return rc;
}
