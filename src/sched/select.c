/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes a request fits on: candidates by configuration, then lowest weight first, then in the
 * fewest and tightest runs of consecutive nodes when several nodes are wanted.
 */
#include <string.h>

#include "sched/plan.h"

void select_done(struct selection *s)
{
    vec_done(&s->shares);
}

/* --- configuration
 * --------------------------------------------------------------------------------- */

/* "a&b|c": the operators from left to right, as Slurm reads them without brackets. */
static bool features_match(const struct node *n, const char *expr)
{
    bool result = false, first = true;
    char op = '|';
    for (const char *at = expr; *at;) {
        size_t len = strcspn(at, "&|,");
        bool has = node_has_feature(n, at, len);
        result = first ? has : op == '|' ? result || has : result && has;
        first = false;
        op = at[len];
        at += len + (at[len] != 0);
    }
    return result;
}

static uint64_t node_mem_wanted(const struct request *r, const struct node *n, uint32_t cpus)
{
    if (r->mem_node_mib == UINT64_MAX)
        return n->mem_mib;
    return r->mem_node_mib ? r->mem_node_mib : r->mem_cpu_mib * cpus;
}

/* The fewest CPUs the request takes of any node. */
static uint32_t least_cpus(const struct request *r)
{
    uint32_t tasks = r->ntasks_per_node ? r->ntasks_per_node : 1;
    uint32_t cpus = r->overcommit ? 1 : tasks * r->cpus_per_task;
    return cpus > r->min_cpus ? cpus : r->min_cpus;
}

static bool could_run(const struct job *j, const struct node *n)
{
    const struct request *r = &j->want;
    uint32_t cpus = least_cpus(r);
    return !n->future && n->cpus >= cpus && j->part->conf.max_cpus_per_node >= cpus &&
           n->tmp_mib >= r->tmp_mib && node_mem_wanted(r, n, cpus) <= n->mem_mib &&
           (!r->features || features_match(n, r->features));
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

/* How many tasks fit on the node in this view; 0: none. */
static uint32_t tasks_fit(const struct cluster *c, const struct job *j,
                          const struct free_view *view, uint32_t node)
{
    const struct node *n = c->nodes.data[node];
    const struct request *r = &j->want;
    uint32_t units = view ? view->units[node] : n->exclusive ? 0 : n->free_units;
    uint64_t mem = view ? view->mem_mib[node] : n->mem_mib - n->used_mem_mib;
    bool whole = view ? view->whole[node] : n->jobs == 0;
    if (units == 0 || (r->exclusive && !whole))
        return 0;
    uint32_t cpus = units * n->cpus_per_unit, left = part_cpus_left(j, view, node), tasks;
    cpus = cpus < left ? cpus : left;
    if (cpus == 0 || cpus < r->min_cpus || (r->exclusive && cpus < n->cpus))
        return 0;
    if (r->overcommit)
        tasks = r->tasks;
    else
        tasks = cpus / r->cpus_per_task;
    if (r->mem_node_mib && node_mem_wanted(r, n, 0) > mem)
        return 0;
    if (r->mem_cpu_mib && !r->exclusive && !r->overcommit) {
        uint64_t by_mem = mem / r->mem_cpu_mib / r->cpus_per_task;
        tasks = by_mem < tasks ? (uint32_t)by_mem : tasks;
    }
    if (r->ntasks_per_node)
        tasks = tasks >= r->ntasks_per_node ? r->ntasks_per_node : 0;
    return tasks;
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
    if (s.mem_mib > n->mem_mib)
        s.mem_mib = n->mem_mib; /* a whole node has no more than it has */
    vec_push(&out->shares, s);
}

/* --- choice
 * ---------------------------------------------------------------------------------------- */

struct chooser {
    const struct cluster *c;
    const struct job *j;
    struct bitset *fits; /* nodes with room for at least a task */
    uint32_t *tasks;     /* by node */
    struct bitset *chosen;
    uint32_t count, sum;
};

static void choose(struct chooser *ch, size_t node)
{
    bitset_set(ch->chosen, node);
    ch->count++;
    ch->sum += ch->tasks[node];
}

static bool enough(const struct chooser *ch)
{
    const struct request *r = &ch->j->want;
    return ch->count >= r->min_nodes && ch->sum >= r->tasks;
}

/* More would not be taken: -N 2-4 takes four nodes when they are free. */
static bool full(const struct chooser *ch)
{
    const struct request *r = &ch->j->want;
    return ch->count >= r->max_nodes || (enough(ch) && ch->count >= r->good_nodes);
}

/* The next run of fitting, not chosen nodes of this weight at or after 'from'; false: none. */
static bool next_run(const struct chooser *ch, uint32_t weight, size_t from, size_t *first,
                     size_t *len)
{
    long i = bitset_next(ch->fits, from);
    while (i >= 0 && (bitset_test(ch->chosen, (size_t)i) || ch->c->nodes.data[i]->weight != weight))
        i = bitset_next(ch->fits, (size_t)i + 1);
    if (i < 0)
        return false;
    *first = (size_t)i;
    size_t end = *first;
    while (end < ch->fits->size && bitset_test(ch->fits, end) && !bitset_test(ch->chosen, end) &&
           ch->c->nodes.data[end]->weight == weight)
        end++;
    *len = end - *first;
    return true;
}

/* The run closest in size to what is missing: the smallest that is enough, else the largest
 * (CORE-139 to 142). */
static bool best_run(const struct chooser *ch, uint32_t weight, size_t wanted, size_t *first,
                     size_t *len)
{
    size_t at = 0, f, l;
    *len = 0;
    while (next_run(ch, weight, at, &f, &l)) {
        bool better = *len == 0 || (*len < wanted ? l > *len : l >= wanted && l < *len);
        if (better) {
            *first = f;
            *len = l;
        }
        at = f + l;
    }
    return *len > 0;
}

/* The lowest weight above 'over' among fitting nodes; -1: none. */
static int64_t next_weight(const struct chooser *ch, int64_t over)
{
    int64_t found = -1;
    bitset_foreach (ch->fits, i) {
        int64_t w = ch->c->nodes.data[i]->weight;
        if (w > over && (found < 0 || w < found))
            found = w;
    }
    return found;
}

static void choose_runs(struct chooser *ch, uint32_t weight)
{
    const struct request *r = &ch->j->want;
    size_t first, len;
    while (!full(ch)) {
        size_t wanted = r->good_nodes > ch->count ? r->good_nodes - ch->count : 1;
        if (!best_run(ch, weight, wanted, &first, &len))
            return;
        for (size_t i = first; i < first + len && !full(ch); i++)
            choose(ch, i);
    }
}

static bool choose_contiguous(struct chooser *ch)
{
    const struct request *r = &ch->j->want;
    for (size_t first = 0; first < ch->fits->size; first++) {
        for (size_t i = first; i < ch->fits->size && bitset_test(ch->fits, i) && !full(ch); i++)
            choose(ch, i);
        if (enough(ch) && (!r->req || bitset_contains(ch->chosen, r->req)))
            return true;
        bitset_zero(ch->chosen);
        ch->count = ch->sum = 0;
    }
    return false;
}

static bool choose_all(struct chooser *ch)
{
    const struct request *r = &ch->j->want;
    if (r->contiguous)
        return choose_contiguous(ch);
    if (r->req) {
        if (!bitset_contains(ch->fits, r->req))
            return false;
        bitset_foreach (r->req, i)
            choose(ch, (size_t)i);
    }
    for (int64_t w = next_weight(ch, -1); w >= 0 && !full(ch); w = next_weight(ch, w))
        choose_runs(ch, (uint32_t)w);
    return enough(ch);
}

/* Deals the tasks out one node after the other, so that every chosen node gets at least one. */
static void deal(const struct chooser *ch, struct selection *out)
{
    const struct request *r = &ch->j->want;
    uint32_t left = r->tasks > ch->count ? r->tasks - ch->count : 0;
    bool one_by_one = r->min_nodes > 1 || r->good_nodes > 1;
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
        add_share(ch->c, ch->j, (uint32_t)i, got[i], out);
    free(got);
}

int select_nodes(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                 const struct free_view *view, struct selection *out)
{
    struct chooser ch = {
        .c = c, .j = j, .fits = bitset_new(c->nodes.len), .chosen = bitset_new(c->nodes.len)};
    ch.tasks = mem_new_array(uint32_t, c->nodes.len + 1);
    bitset_foreach (allowed, i) {
        ch.tasks[i] = tasks_fit(c, j, view, (uint32_t)i);
        if (ch.tasks[i])
            bitset_set(ch.fits, (size_t)i);
    }
    int rc = choose_all(&ch) ? 0 : -ERR_NODES_BUSY;
    if (rc == 0)
        deal(&ch, out);
    bitset_free(ch.fits);
    bitset_free(ch.chosen);
    free(ch.tasks);
    return rc;
}
