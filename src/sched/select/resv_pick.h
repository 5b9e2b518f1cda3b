/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of nodes for a reservation that is created or changed, or whose nodes are replaced. */
#pragma once

#include "cluster/cluster.h"

struct resv_pick {
    const struct cluster *cluster;
    const struct resv *self; /* the reservation that it replaces; NULL: it is new */
    int64_t now_sec;
    bool stays; /* its nodes and its reserved amounts must not change */
};

/* Checks the named nodes of the reservation, or finds the requested number of nodes and sets them.
 * 'keep': nodes that the reservation must keep; NULL: none. -ERR_RESV_OVERLAP, -ERR_NODES_BUSY,
 * -ERR_NODE_COUNT, -ERR_FEATURE, -ERR_NO_PARTITION, -ERR_RESV_INVALID. */
int resv_pick(const struct resv_pick *p, struct resv *r, const struct bitset *keep,
              struct err *err);

/* Checks the licences only: simultaneous reservations may not reserve more of a licence than the
 * total. -ERR_RESV_OVERLAP: they would. */
int resv_pick_licenses(const struct resv_pick *p, struct resv *r, struct err *err);

/* Generic resources of a node that are reserved more often at one time than they exist. */
struct resv_excess {
    size_t node;
    uint32_t kind;
    uint64_t kept, stock;
};
/* Whether 'self' is one of such reservations; returns the first node. Reservations with an overlap
 * flag do not count. */
bool resv_pick_exceeds(const struct resv_pick *p, struct resv_excess *out);

/* Reserves the amounts of TRESPerNode on nodes that were added to its partition, including GRES
 * that a node does not have yet. */
void resv_pick_added(const struct resv_pick *p, struct resv *r);

/* Parses "2,4" or "12"; false: invalid. */
bool resv_parse_cores(const char *text, struct resv *r);

/* Returns the nodes of the reservation that stay when others are replaced, provided that
 * replacements exist; NULL: all stay. The caller frees the set. */
struct bitset *resv_keepers(const struct cluster *c, const struct resv *r);
