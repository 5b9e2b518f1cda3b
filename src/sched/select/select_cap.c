/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all jobs of a partition together may have of a node: MaxCPUsPerNode, MaxCPUsPerSocket. */
#include <stdlib.h>

#include "cluster/resource/cores.h"
#include "sched/select/select.h"

uint32_t select_part_cpus(const struct conf_part *p, const struct node_kind *k)
{
    if (p->max_cpus_per_socket == UINT32_MAX)
        return p->max_cpus_per_node;
    uint64_t units = (uint64_t)p->max_cpus_per_socket / k->cpus_per_unit * k->sockets;
    uint64_t cpus = units * k->cpus_per_unit;
    return cpus < p->max_cpus_per_node ? (uint32_t)cpus : p->max_cpus_per_node;
}

/* CPUs of the node that the job's partition may still use: MaxCPUsPerNode counts all its jobs. What
 * they will have given back in another view is not known by partition. */
uint32_t select_part_cpus_left(const struct job *j, const struct node_kind *k,
                               const struct free_view *view, uint32_t node)
{
    uint32_t most = select_part_cpus(&j->part->conf, k), used = 0;
    if (most != UINT32_MAX && view->present && j->part->used_cpus)
        used = j->part->used_cpus[node];
    return most > used ? most - used : 0;
}

/* With MaxCPUsPerSocket. */
uint32_t select_part_units_left(const struct cluster *c, const struct job *j, uint32_t node,
                                uint32_t units)
{
    const struct node *n = c->nodes.data[node];
    _cleanup_free_ uint32_t *left = cores_part_left(c, j->part, n);
    uint32_t room = cores_room(n, 0, left);
    return room < units ? room : units;
}
