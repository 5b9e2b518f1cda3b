/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One job on nodes that somebody outside has chosen: whether it may run there, and fits now. Pure.
 */
#pragma once

#include "sched/plan.h"

/* On all of these nodes and no others. 0 and its share of each; -ERR_NODE_COUNT, -ERR_NODE_CONFIG
 * (they are not of its partition, or not as it wants them), -ERR_NODES_DOWN, -ERR_NODES_BUSY. The
 * job is as before afterwards. */
int place_find(const struct cluster *c, struct job *j, struct bitset *nodes, struct selection *out,
               struct err *err);
