/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/gate.h"
#include "sched/plan.h"
#include "sched/select/select.h"

/* Required nodes are no longer configured: the job waits, and blocks no other job. */
static enum reason gate_required_nodes(const struct plan *p, const struct job *j)
{
    (void)p;
    return j->want.req_gone ? REASON_REQ_NODE_NOT_AVAIL : REASON_NONE;
}

/* For a job that was accepted although the nodes with its features do not exist yet. */
static enum reason gate_constraint(const struct plan *p, const struct job *j)
{
    const struct cluster *c = p->cluster;
    if (!j->want.constraint || !c->conf->sched.ignore_constraint_validation)
        return REASON_NONE;
    _cleanup_bitset_ struct bitset *candidates = select_candidates(c, j);
    bool is_met = select_fits_idle(c, j, candidates) || select_possible(c, j, NULL) != 0;
    return is_met ? REASON_NONE : REASON_CONSTRAINTS;
}

static enum reason gate_array_throttle(const struct plan *p, const struct job *j)
{
    (void)p;
    return array_has_room(j->array) ? REASON_NONE : REASON_JOB_ARRAY_TASK_LIMIT;
}

#define REASONS_MOST 2 /* maximum reasons of one gate */

static const struct {
    const char *name;
    enum reason (*find)(const struct plan *p, const struct job *j);
    bool keeps_place;
    enum reason reasons[REASONS_MOST]; /* REASON_NONE behind the last one */
} gates[] = {
#define GATE_START(name, find, keeps_place, ...) {#name, find, keeps_place, {__VA_ARGS__}},
#include "cluster/job/reason.def"
};
#define GATES (sizeof(gates) / sizeof(gates[0]))

enum reason gate_of_start(const struct plan *p, const struct job *j, bool *keeps_place)
{
    for (size_t i = 0; i < GATES; i++) {
        enum reason reason = gates[i].find(p, j);
        *keeps_place = reason && gates[i].keeps_place;
        if (reason)
            return reason;
    }
    return REASON_NONE;
}

const char *gate_ask(const struct plan *p, const struct job *j, size_t row, enum reason *reason)
{
    if (row >= GATES)
        return NULL;
    *reason = gates[row].find(p, j);
    for (size_t i = 0; i < REASONS_MOST && !*reason; i++)
        if (gates[row].reasons[i] == j->reason)
            *reason = j->reason;
    return gates[row].name;
}

uint32_t gate_count_elements(const struct job *j)
{
    const struct depend *d = j->waits.on;
    uint32_t n = d && d->parted ? d->ready.count : j->tasks.count;
    uint32_t most = j->array ? j->array->throttle : 0;
    if (!j->tasks.count)
        return 1;
    uint32_t room = !most ? n : j->array->running < most ? most - j->array->running : 0;
    return room < n ? room : n;
}

static bool exceeds_memory(const struct conf *conf, const struct job *j)
{
    const struct conf_part *p = &j->part->conf;
    bool own = p->max_mem_per_cpu_mib || p->max_mem_per_node_mib;
    uint64_t most = own ? p->max_mem_per_node_mib : conf->max_mem_per_node_mib;
    uint64_t wanted = j->want.mem_node_mib;
    return most && wanted != UINT64_MAX && wanted > most;
}

int gate_find_breach(const struct conf *conf, const struct job *j, enum reason *reason)
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
