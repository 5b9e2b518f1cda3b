/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits for all jobs of a partition together on a node: MaxCPUsPerNode, MaxCPUsPerSocket. */
#include <stdlib.h>

#include "cluster/resource/cores.h"
#include "sched/select/select.h"

/* A job with whole cores gets no core that is only partly within a socket's share. */
uint32_t select_part_cpus(const struct conf_part *p, const struct request *r,
                          const struct node_kind *k)
{
    if (p->max_cpus_per_socket == UINT32_MAX)
        return p->max_cpus_per_node;
    uint64_t core = (uint64_t)k->cpus_per_unit * select_units_together(r, k);
    uint64_t cpus = p->max_cpus_per_socket / core * core * k->sockets;
    return cpus < p->max_cpus_per_node ? (uint32_t)cpus : p->max_cpus_per_node;
}

/* Returns the CPUs of the node that the job's partition may still use: MaxCPUsPerNode counts all of
 * its jobs. What they will have released in another view is not known per partition. */
uint32_t select_part_cpus_left(const struct job *j, const struct node_kind *k,
                               const struct free_view *view, uint32_t node)
{
    uint32_t most = select_part_cpus(&j->part->conf, &j->want, k), used = 0;
    if (most != UINT32_MAX && view->present && j->part->used_cpus)
        used = j->part->used_cpus[node];
    return most > used ? most - used : 0;
}

/* Applies MaxCPUsPerSocket. */
uint32_t select_part_units_left(const struct cluster *c, const struct job *j, uint32_t node,
                                const struct bitset *busy, uint32_t units)
{
    const struct node *n = c->nodes.data[node];
    const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[node]];
    _cleanup_free_ uint32_t *left = cores_part_left(c, j->part, n);
    _cleanup_bitset_ struct bitset *closed = select_closed_units(j, n, busy);
    uint32_t room =
        cores_room(n, closed ? closed : busy, 0, left, select_units_together(&j->want, k));
    return room < units ? room : units;
}
