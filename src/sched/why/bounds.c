/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/why/bounds.h"

static bool exceeds_memory(const struct conf *conf, const struct job *j)
{
    const struct conf_part *p = &j->part->conf;
    bool own = p->max_mem_per_cpu_mib || p->max_mem_per_node_mib;
    uint64_t most = own ? p->max_mem_per_node_mib : conf->max_mem_per_node_mib;
    uint64_t wanted = j->want.mem_node_mib;
    return most && wanted != UINT64_MAX && wanted > most;
}

int bounds_breach(const struct conf *conf, const struct job *j, enum reason *reason)
{
    const struct conf_part *p = &j->part->conf;
    const struct request *r = &j->want;
    if (j->limit_sec > p->max_time_sec) {
        *reason = REASON_PARTITION_TIME_LIMIT;
        return ERR_TIME_LIMIT;
    }
    if (r->min_nodes > p->max_nodes || r->max_nodes < p->min_nodes) {
        *reason = REASON_PARTITION_NODE_LIMIT;
        return ERR_NODE_COUNT;
    }
    if (exceeds_memory(conf, j)) {
        *reason = REASON_MAX_MEM_PER_LIMIT;
        return ERR_MEMORY;
    }
    return 0;
}
