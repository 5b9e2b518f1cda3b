/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placement of one job on nodes that the caller has chosen: whether it is permitted and fits now.
 * Pure.
 */
#pragma once

#include "sched/plan.h"

/* Places the job on exactly these nodes. Returns 0, with the share of each node and the reservation
 * in which the job runs (NULL: none); -ERR_NODE_COUNT, -ERR_NODE_CONFIG (a node is not in its
 * partition or does not satisfy the request), -ERR_NODES_DOWN, -ERR_NODES_BUSY. The job is
 * unchanged. */
int place_find(const struct cluster *c, const struct job *j, struct bitset *nodes, int64_t now_sec,
               struct selection *out, const struct resv **into, struct err *err);
