/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes a reservation gets, when it is made, changed, or some of its nodes are to be
 * replaced. */
#pragma once

#include "cluster/cluster.h"

struct resv_pick {
    const struct cluster *cluster;
    const struct resv *self; /* which it is to replace; NULL: it is new */
    int64_t now_sec;
    bool stays; /* its nodes, and what it keeps of them, are as they are to be */
};

/* Checks the nodes it names, or finds as many as it wants and sets them. 'keep': of its nodes those
 * that it is to have anyhow; NULL: none. -ERR_RESV_OVERLAP, -ERR_NODES_BUSY, -ERR_NODE_COUNT,
 * -ERR_FEATURE, -ERR_NO_PARTITION, -ERR_RESV_INVALID. */
int resv_pick(const struct resv_pick *p, struct resv *r, const struct bitset *keep,
              struct err *err);

/* Its licences alone: those that keep one at the same time keep no more than there are, or
 * -ERR_RESV_OVERLAP. */
int resv_pick_licenses(const struct resv_pick *p, struct resv *r, struct err *err);

/* Generic resources of a node of which reservations keep more at one time than it has. */
struct resv_excess {
    size_t node;
    uint32_t kind;
    uint64_t kept, stock;
};
/* Whether 'self' is one of such reservations: the first node. Those that are made to overlap do not
 * count. */
bool resv_pick_exceeds(const struct resv_pick *p, struct resv_excess *out);

/* Its partition has got nodes: it keeps of them what TRESPerNode says. What a node does not have it
 * keeps as well: it has it when the node gets it. */
void resv_pick_added(const struct resv_pick *p, struct resv *r);

/* "2,4" or "12": false: not that. */
bool resv_parse_cores(const char *text, struct resv *r);

/* Of one of whose nodes some are to be replaced, if others are there, those that stay; NULL: all
 * do. The caller frees. */
struct bitset *resv_keepers(const struct cluster *c, const struct resv *r);
