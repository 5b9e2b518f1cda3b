/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How tasks are dealt to nodes, and CPUs to tasks: --distribution,
 *
 *   {*|block|cyclic|arbitrary|plane[=SIZE]}[:SOCKETS[:CORES]][,{pack|nopack}]
 *
 * SOCKETS and CORES being *, block, cyclic or fcyclic. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define DIST_PLANE_MAX 999999999u

enum dist_nodes { DIST_NODES_ANY, DIST_NODES_BLOCK, DIST_NODES_CYCLIC, DIST_PLANE, DIST_ARBITRARY };

/* Over sockets or cores: each task begins at the next one; each uses up what the last one has left;
 * each CPU of a task is of the next one. ANY: not said. */
enum dist_order { DIST_ANY, DIST_CYCLIC, DIST_BLOCK, DIST_FCYCLIC };

enum dist_pack { DIST_PACK_ANY, DIST_PACK, DIST_NOPACK };

struct dist {
    enum dist_nodes nodes;
    uint32_t plane; /* tasks; 0: its size is to be found elsewhere */
    enum dist_order sockets, cores;
    enum dist_pack pack;
};

/* NULL and "" say nothing. -ERR_PARSE, 'out' untouched: a word is unknown, or there are too many.
 */
int dist_parse(const char *text, struct dist *out);
/* Lower case, without what was not said at the end; "block" for what is not said before that. */
void dist_format(const struct dist *d, struct str *out);
/* Whether one node is filled before the next, where that is the cluster's default or is not. */
bool dist_is_packed(const struct dist *d, bool otherwise);
/* Tasks that a node gets in a round: of a plane as many as it has, else one. */
uint32_t dist_round(const struct dist *d);
/* Deals 'tasks' to n nodes, of which node i takes cap[i] at most; all of them together take no
 * fewer than 'tasks'. Each node with a capacity gets one task first. The others fill one node
 * before the next where tasks are packed; else the nodes get dist_round() of
 * them in turn, so that uneven nodes come out even. */
void dist_deal_tasks(const struct dist *d, bool packed, uint32_t tasks, const uint32_t *cap,
                     size_t n, uint32_t *out);
