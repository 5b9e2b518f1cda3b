/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the planner's files about licences share. */
#pragma once

#include "cluster/cluster.h"
#include "sched/license.h"

static inline uint64_t license_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The end of the need's pools. */
static inline int32_t license_end_of(const struct cluster *c, const struct license_need *need)
{
    return need->at < 0 ? need->at : need->at + (int32_t)c->licenses.list.data[need->at].pools;
}
/* What a job takes of the pool on the nodes that are chosen for it. */
uint64_t license_amount_on(const struct cluster *c, const struct license_need *need, int32_t at,
                           const struct selection *where);
/* What others have a claim on at that time, or the job itself. */
uint64_t license_claimed_at(const struct license_claims *l, const struct job *j, bool others,
                            int32_t license, int64_t at);
