/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MaxCPUsPerSocket: the limit for all jobs of a partition together on the sockets of a node. Few
 * partitions have it, so the use is counted on demand. */
#include <stdlib.h>

#include "cluster/cluster.h"
#include "cluster/resource/cores.h"

static uint32_t units_allowed(const struct part *p, const struct node *n)
{
    return p->conf.max_cpus_per_socket / n->cpus_per_unit;
}

/* Counts by socket the units that its jobs hold there. */
static uint32_t *count_used(const struct cluster *c, const struct part *p, const struct node *n)
{
    uint32_t *used = mem_new_array(uint32_t, cores_count_sockets(n) + 1);
    vec_foreach (&n->holders, id) {
        const struct job *j = cluster_find_job(c, *id);
        if (!j || j->part != p)
            continue;
        vec_foreach (&attempt_of(j)->alloc, a)
            if (a->node == n->index && !a->released && !a->parked)
                bitset_foreach (a->busy, i)
                    used[cores_socket(n, (size_t)i)]++;
    }
    return used;
}

uint32_t *cores_part_left(const struct cluster *c, const struct part *p, const struct node *n)
{
    if (p->conf.max_cpus_per_socket == UINT32_MAX)
        return NULL;
    uint32_t most = units_allowed(p, n), *left = count_used(c, p, n);
    for (size_t s = 0; s < cores_count_sockets(n); s++)
        left[s] = most > left[s] ? most - left[s] : 0;
    return left;
}

bool cores_part_may(const struct cluster *c, const struct part *p, const struct node *n,
                    const struct bitset *units)
{
    if (!p || p->conf.max_cpus_per_socket == UINT32_MAX)
        return true;
    _cleanup_free_ uint32_t *used = count_used(c, p, n);
    uint32_t others = 0;
    bool fits = true;
    for (size_t s = 0; s < cores_count_sockets(n); s++)
        others += used[s];
    bitset_foreach (units, i)
        fits = ++used[cores_socket(n, (size_t)i)] <= units_allowed(p, n) && fits;
    return fits || others == 0;
}
