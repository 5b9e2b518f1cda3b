/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What could never run is refused at once, and told why (CORE-084). */
#include <string.h>

#include "sched/constraint.h"
#include "sched/plan.h"

struct most { /* of what nodes of a partition have */
    uint64_t cpus, cpus_per_node, mem_mib, tmp_mib;
};

static struct most most_of(const struct cluster *c, const struct part *p)
{
    struct most m = {0};
    bitset_foreach (p->nodes, i) {
        const struct node *n = c->nodes.data[i];
        uint32_t cpus = n->cpus < p->conf.max_cpus_per_node ? n->cpus : p->conf.max_cpus_per_node;
        m.cpus += cpus;
        m.cpus_per_node = cpus > m.cpus_per_node ? cpus : m.cpus_per_node;
        m.mem_mib = n->mem_mib > m.mem_mib ? n->mem_mib : m.mem_mib;
        m.tmp_mib = n->tmp_mib > m.tmp_mib ? n->tmp_mib : m.tmp_mib;
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

int select_nodes_idle(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                      struct selection *out)
{
    struct free_view view = {mem_new_array(uint32_t, c->nodes.len + 1),
                             mem_new_array(int64_t, c->nodes.len + 1),
                             mem_new_array(bool, c->nodes.len + 1), NULL};
    bitset_foreach (allowed, i) {
        const struct node *n = c->nodes.data[i];
        view.units[i] = n->units;
        view.mem_mib[i] = (int64_t)n->mem_mib;
        view.whole[i] = true;
    }
    int rc = select_nodes(c, j, allowed, &view, out);
    free(view.units);
    free(view.mem_mib);
    free(view.whole);
    return rc;
}

/* The whole request on the empty cluster, every node up. */
static int check_together(const struct cluster *c, const struct job *j, struct err *err)
{
    struct bitset *candidates = select_candidates(c, j);
    struct selection s = {0};
    int rc = select_nodes_idle(c, j, candidates, &s);
    select_done(&s);
    bitset_free(candidates);
    return rc == 0 ? 0 : err_set(err, -ERR_NODE_CONFIG, "%s", err_text(ERR_NODE_CONFIG));
}

int select_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    const struct request *r = &j->want;
    const struct part *p = j->part;
    size_t nodes = bitset_count(p->nodes);
    int rc = r->features ? constraint_check(c, r->features, err) : 0;
    if (rc != 0)
        return rc;
    if (r->min_nodes > nodes)
        return err_set(err, -ERR_NODE_COUNT, "%s: %u nodes asked, %zu in partition %s",
                       err_text(ERR_NODE_COUNT), r->min_nodes, nodes, p->conf.name);
    if (r->req && !bitset_contains(p->nodes, r->req))
        return err_set(err, -ERR_NODE_CONFIG, "%s: a node of the list is not in partition %s",
                       err_text(ERR_NODE_CONFIG), p->conf.name);
    struct most most = most_of(c, p);
    if (!r->overcommit && (uint64_t)r->tasks * r->cpus_per_task > most.cpus)
        return err_set(err, -ERR_TOO_MANY_CPUS, "%s: %llu CPUs asked, %llu in partition %s",
                       err_text(ERR_TOO_MANY_CPUS), (unsigned long long)r->tasks * r->cpus_per_task,
                       (unsigned long long)most.cpus, p->conf.name);
    rc = check_one_node(j, &most, err);
    return rc == 0 ? check_together(c, j, err) : rc;
}
