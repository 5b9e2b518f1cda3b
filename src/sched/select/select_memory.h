/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory: --mem per node, --mem-per-cpu or --mem-per-gpu. The functions of the row MEMORY of
 * cluster/resource/resource_kind.def, for select.c, which calls the functions of all rows.
 */
#pragma once

#include "sched/select/select.h"

/* Returns the MiB per CPU of a whole node. A larger --mem-per-cpu does not fit on the node. */
static inline uint64_t select_whole_mem_per_cpu(const struct request *r, const struct node_kind *k)
{
    uint64_t cpus = (uint64_t)k->units * select_cpus_used(r, k);
    return cpus ? (uint64_t)k->amounts.mem_mib / cpus : 0;
}

static inline int64_t select_memory_least(const struct request *r, uint64_t cpus)
{
    uint64_t by_cpus = r->mem_cpu_mib * cpus;
    if (r->mem_node_mib == UINT64_MAX)
        return 0;
    return amounts_bound(r->mem_node_mib > by_cpus ? r->mem_node_mib : by_cpus);
}

static inline int64_t select_memory_wanted(const struct request *r, const struct node_kind *k,
                                           uint32_t cpus, uint64_t gpus)
{
    if (r->mem_node_mib == UINT64_MAX)
        return k->amounts.mem_mib;
    uint64_t asked = r->mem_node_mib ? r->mem_node_mib : r->mem_cpu_mib * cpus;
    return amounts_bound(asked + gpus * r->mem_gpu_mib); /* --mem-per-gpu excludes the others */
}

static inline bool select_memory_fits(const struct request *r, const struct node_kind *k,
                                      int64_t mem_mib, struct select_served *served)
{
    if (mem_mib < 0)
        return false;
    if (r->mem_node_mib && select_memory_wanted(r, k, 0, 0) > mem_mib)
        return false;
    if (r->exclusive && r->mem_cpu_mib > select_whole_mem_per_cpu(r, k))
        return false;
    if (r->mem_cpu_mib && (uint64_t)mem_mib / r->mem_cpu_mib < served->cpus)
        served->cpus = (uint64_t)mem_mib / r->mem_cpu_mib;
    if (r->mem_gpu_mib && (uint64_t)mem_mib / r->mem_gpu_mib < served->gpus)
        served->gpus = (uint64_t)mem_mib / r->mem_gpu_mib;
    return true;
}
