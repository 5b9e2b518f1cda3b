/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The distribution of tasks to nodes and of CPUs to tasks: --distribution,
 *
 *   {*|block|cyclic|arbitrary|plane[=SIZE]}[:SOCKETS[:CORES]][,{pack|nopack}]
 *
 * SOCKETS and CORES are *, block, cyclic or fcyclic. Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define DIST_PLANE_MAX 999999999u

enum dist_nodes { DIST_NODES_ANY, DIST_NODES_BLOCK, DIST_NODES_CYCLIC, DIST_PLANE, DIST_ARBITRARY };

/* The order over sockets or cores. CYCLIC: each task begins at the next one. BLOCK: each task fills
 * up the one of the task before. FCYCLIC: each CPU of a task is on the next one. ANY: not
 * specified. */
enum dist_order { DIST_ANY, DIST_CYCLIC, DIST_BLOCK, DIST_FCYCLIC };

enum dist_pack { DIST_PACK_ANY, DIST_PACK, DIST_NOPACK };

struct dist {
    enum dist_nodes nodes;
    uint32_t plane; /* tasks; 0: the size is specified elsewhere */
    enum dist_order sockets, cores;
    enum dist_pack pack;
};

/* NULL and "" specify nothing. -ERR_PARSE: a word is unknown, or there are too many words; 'out' is
 * unchanged. */
int dist_parse(const char *text, struct dist *out);
/* Writes lower case words. Unspecified parts at the end are left out; other unspecified parts are
 * "block". */
void dist_format(const struct dist *d, struct str *out);
/* Whether tasks fill one node before the next. 'otherwise' is the cluster's default. */
bool dist_is_packed(const struct dist *d, bool otherwise);
/* Returns the number of tasks that a node gets in a round: the size of a plane, otherwise 1. */
uint32_t dist_round(const struct dist *d);
/* Deals 'tasks' to n nodes. Node i takes at most cap[i] tasks; all nodes together take at least
 * 'tasks'. First each node with a capacity gets one task. The other tasks fill one node before the
 * next if tasks are packed. Otherwise the nodes get dist_round() tasks in turn, which balances
 * uneven nodes. */
void dist_deal_tasks(const struct dist *d, bool packed, uint32_t tasks, const uint32_t *cap,
                     size_t n, uint32_t *out);
