/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/gate.h"

#include "sched/plan.h"

/* Nodes that it requires are not configured any more: nobody waits for it. */
static enum reason gate_required_nodes(const struct plan *p, const struct job *j)
{
    (void)p;
    return j->want.req_gone ? REASON_REQ_NODE_NOT_AVAIL : REASON_NONE;
}

static enum reason gate_array_throttle(const struct plan *p, const struct job *j)
{
    (void)p;
    return array_has_room(j->array) ? REASON_NONE : REASON_JOB_ARRAY_TASK_LIMIT;
}

static enum reason gate_licenses(const struct plan *p, const struct job *j)
{
    bool licensed = license_may_start_somewhere(&p->claims, p->cluster, j, p->now_sec);
    return licensed ? REASON_NONE : REASON_LICENSES;
}

static const struct {
    enum reason (*find)(const struct plan *p, const struct job *j);
    bool keeps_place;
} gates[] = {
#define GATE_START(function, keeps_place, ...) {function, keeps_place},
#include "sched/plan/gate.def"
};

enum reason gate_of_start(const struct plan *p, const struct job *j, bool *keeps_place)
{
    for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++) {
        enum reason reason = gates[i].find(p, j);
        *keeps_place = reason && gates[i].keeps_place;
        if (reason)
            return reason;
    }
    return REASON_NONE;
}
