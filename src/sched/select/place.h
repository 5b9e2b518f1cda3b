/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One job on nodes that somebody outside has chosen: whether it may run there, and fits now. Pure.
 */
#pragma once

#include "sched/plan.h"

/* On all of these nodes and no others. 0, its share of each, and the reservation in which it runs
 * (NULL: none); -ERR_NODE_COUNT, -ERR_NODE_CONFIG (they are not of its partition, or not as it
 * wants them), -ERR_NODES_DOWN, -ERR_NODES_BUSY. The job is as before afterwards. */
int place_find(const struct cluster *c, const struct job *j, struct bitset *nodes, int64_t now_sec,
               struct selection *out, const struct resv **into, struct err *err);
