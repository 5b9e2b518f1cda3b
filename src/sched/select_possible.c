/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What could never run is refused at once, and told why (CORE-084). */
#include <stdlib.h>
#include <string.h>

#include "sched/choose.h"
#include "sched/constraint.h"
#include "sched/select.h"

struct most { /* of what nodes of a partition have */
    uint64_t nodes, cpus, cpus_per_node, mem_mib, tmp_mib;
};

static struct most most_of(const struct cluster *c, const struct part *p)
{
    _cleanup_free_ uint32_t *count = pool_count_kinds(&c->pool, p->nodes);
    struct most m = {0};
    for (size_t i = 0; i < c->pool.kinds.len; i++) {
        const struct node_kind *k = &c->pool.kinds.data[i];
        uint32_t cpus = k->cpus < p->conf.max_cpus_per_node ? k->cpus : p->conf.max_cpus_per_node;
        if (count[i] == 0)
            continue;
        m.nodes += count[i];
        m.cpus += (uint64_t)cpus * count[i];
        m.cpus_per_node = cpus > m.cpus_per_node ? cpus : m.cpus_per_node;
        m.mem_mib = k->mem_mib > m.mem_mib ? k->mem_mib : m.mem_mib;
        m.tmp_mib = k->tmp_mib > m.tmp_mib ? k->tmp_mib : m.tmp_mib;
    }
    return m;
}

static int no_node(struct err *err, const char *what, uint64_t asked, const char *unit,
                   uint64_t most, const struct part *p)
{
    return err_set(err, -ERR_NODE_CONFIG,
                   "%s: %s can not be satisfied: %llu%s asked, at most %llu%s on a "
                   "node of partition %s",
                   err_text(ERR_NODE_CONFIG), what, (unsigned long long)asked, unit,
                   (unsigned long long)most, unit, p->conf.name);
}

/* What no single node can give. */
static int check_one_node(const struct job *j, const struct most *most, struct err *err)
{
    const struct request *r = &j->want;
    uint64_t cpus = r->overcommit ? 1 : r->cpus_per_task; /* at least 1 */
    if (r->ntasks_per_node && !r->tasks_given && !r->overcommit)
        cpus *= r->ntasks_per_node;
    cpus = cpus > r->min_cpus ? cpus : r->min_cpus;
    if (cpus > most->cpus_per_node)
        return no_node(err, "CPU count per node", cpus, "", most->cpus_per_node, j->part);
    uint64_t mem = r->mem_node_mib == UINT64_MAX ? 0 : r->mem_node_mib;
    if (!mem && r->mem_cpu_mib > most->mem_mib / cpus)
        return no_node(err, "Memory specification", r->mem_cpu_mib, "M per CPU",
                       most->mem_mib / cpus, j->part);
    if (mem > most->mem_mib)
        return no_node(err, "Memory specification", mem, "M", most->mem_mib, j->part);
    if (r->tmp_mib > most->tmp_mib)
        return no_node(err, "Temporary disk specification", r->tmp_mib, "M", most->tmp_mib,
                       j->part);
    return 0;
}

/* --- the whole request, on nodes where nothing runs --------------------------------------------
 */

/* By kind: how many tasks an idle node of it takes, when the constraint's group stands for its word
 * number 'which'. */
static void idle_tasks(const struct cluster *c, const struct job *j, uint32_t which,
                       uint32_t *tasks)
{
    for (size_t i = 0; i < c->pool.kinds.len; i++) {
        const struct node_kind *k = &c->pool.kinds.data[i];
        struct select_room room = {k->units, j->part->conf.max_cpus_per_node, (int64_t)k->mem_mib,
                                   true};
        bool could = select_kind_could(j, k) &&
                     (!j->want.features || constraint_match(k->features, j->want.features, which));
        tasks[i] = could ? select_tasks_fit(c, j, k, &room) : 0;
    }
}

/* Where they lie matters. */
static bool fits_in_row(const struct cluster *c, struct chooser *ch, const struct bitset *set,
                        const uint32_t *tasks)
{
    ch->fits = bitset_new(c->nodes.len);
    ch->chosen = bitset_new(c->nodes.len);
    ch->tasks = mem_new_array(uint32_t, c->nodes.len + 1);
    ch->weight = c->pool.weight;
    bitset_foreach (set, i) {
        ch->tasks[i] = tasks[c->pool.kind[i]];
        if (ch->tasks[i])
            bitset_set(ch->fits, (size_t)i);
    }
    bool found = choose_nodes(ch);
    bitset_free(ch->fits);
    bitset_free(ch->chosen);
    free(ch->tasks);
    return found;
}

struct lot { /* nodes of a kind that are to be had */
    uint32_t tasks, count;
};

static int by_tasks(const void *a, const void *b)
{
    const struct lot *x = a, *y = b;
    return (x->tasks < y->tasks) - (x->tasks > y->tasks);
}

/* Takes up to 'max' nodes, those of the most tasks first. Every node may be a kind of its own. */
static void take_best(const struct cluster *c, struct chooser *ch, const uint32_t *count,
                      const uint32_t *tasks)
{
    _cleanup_free_ struct lot *lots = mem_new_array(struct lot, c->pool.kinds.len + 1);
    size_t n = 0;
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        if (count[k] && tasks[k])
            lots[n++] = (struct lot){tasks[k], count[k]};
    qsort(lots, n, sizeof(*lots), by_tasks);
    for (size_t i = 0; i < n && ch->count < ch->max; i++) {
        uint32_t take = lots[i].count < ch->max - ch->count ? lots[i].count : ch->max - ch->count;
        ch->count += take;
        ch->sum += (uint64_t)lots[i].tasks * take;
    }
}

/* Nodes of a kind are as good as each other: they are counted, not chosen. */
static bool fits_somewhere(const struct cluster *c, struct chooser *ch, const struct bitset *set,
                           const uint32_t *tasks)
{
    _cleanup_free_ uint32_t *count = pool_count_kinds(&c->pool, set);
    if (ch->required)
        bitset_foreach (ch->required, i) {
            uint32_t kind = c->pool.kind[i];
            if (!bitset_test(set, (size_t)i) || !tasks[kind])
                return false;
            count[kind]--;
            ch->count++;
            ch->sum += tasks[kind];
        }
    if (ch->count > ch->max)
        return false;
    take_best(c, ch, count, tasks);
    return ch->count >= ch->min && ch->sum >= ch->need;
}

bool select_fits_idle(const struct cluster *c, const struct job *j, const struct bitset *set)
{
    _cleanup_free_ uint32_t *tasks = mem_new_array(uint32_t, c->pool.kinds.len + 1);
    bool fits = false;
    for (uint32_t i = 0; i < constraint_alternatives(j->want.features) && !fits; i++) {
        struct chooser ch = {0};
        select_bounds(j, &ch);
        idle_tasks(c, j, i, tasks);
        fits = ch.contiguous ? fits_in_row(c, &ch, set, tasks) : fits_somewhere(c, &ch, set, tasks);
    }
    return fits;
}

/* On the empty cluster, every node up. */
static int check_together(const struct cluster *c, const struct job *j, struct err *err)
{
    _cleanup_bitset_ struct bitset *candidates = select_candidates(c, j);
    return select_fits_idle(c, j, candidates)
               ? 0
               : err_set(err, -ERR_NODE_CONFIG, "%s", err_text(ERR_NODE_CONFIG));
}

int select_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    const struct request *r = &j->want;
    const struct part *p = j->part;
    struct most most = most_of(c, p);
    int rc = r->features ? constraint_check(c, r->features, err) : 0;
    if (rc != 0)
        return rc;
    if (r->min_nodes > most.nodes)
        return err_set(err, -ERR_NODE_COUNT, "%s: %u nodes asked, %llu in partition %s",
                       err_text(ERR_NODE_COUNT), r->min_nodes, (unsigned long long)most.nodes,
                       p->conf.name);
    if (r->req && !bitset_contains(p->nodes, r->req))
        return err_set(err, -ERR_NODE_CONFIG, "%s: a node of the list is not in partition %s",
                       err_text(ERR_NODE_CONFIG), p->conf.name);
    if (!r->overcommit && (uint64_t)r->tasks * r->cpus_per_task > most.cpus)
        return err_set(err, -ERR_TOO_MANY_CPUS, "%s: %llu CPUs asked, %llu in partition %s",
                       err_text(ERR_TOO_MANY_CPUS), (unsigned long long)r->tasks * r->cpus_per_task,
                       (unsigned long long)most.cpus, p->conf.name);
    rc = check_one_node(j, &most, err);
    return rc == 0 ? check_together(c, j, err) : rc;
}
