/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generic resources that a reservation wants, dealt out to its nodes. */
#pragma once

#include "cluster/cluster.h"

struct resv_wish {
    struct gres_wants wants; /* per_node: of each node; per_job: of all nodes together */
};

/* Reads the generic resources that the reservation requests. -ERR_GRES: no node has the kind, or
 * the kind is a part of a GPU. */
int resv_wish_read(const struct cluster *c, const struct resv *r, struct resv_wish *out,
                   struct err *err);
void resv_wish_done(struct resv_wish *w);

/* The GRES of nodes that a reservation may get: by node, then by kind. */
struct resv_stock {
    uint64_t *gres;
    size_t kinds;
};
/* The devices that nodes are configured with, without GPUs that are given in parts. */
void resv_stock_init(struct resv_stock *s, const struct cluster *c);
void resv_stock_done(struct resv_stock *s);

/* Whether the stock of a node covers the share of node number 'at' of 'count'. count 0: it covers
 * what the wish has for each node. */
bool resv_wish_fits(const struct resv_wish *w, const struct resv_stock *s, size_t node, uint32_t at,
                    uint32_t count);
/* Distributes the wish evenly over these nodes. False: 'node' is the first one with too small a
 * stock, and the reservation keeps nothing. */
bool resv_wish_deal(const struct cluster *c, const struct resv_wish *w, const struct resv_stock *s,
                    const struct bitset *nodes, struct resv *r, size_t *node);
/* Distributes the wish over the nodes of 'from' in order, until nothing is left to distribute, and
 * adds these nodes to 'chosen'. */
bool resv_wish_deal_some(const struct cluster *c, const struct resv_wish *w,
                         const struct resv_stock *s, const struct bitset *from, struct resv *r,
                         struct bitset *chosen);
/* Gives each node of the reservation that has no share yet its share per node, from the first of
 * 'count' stocks that covers it. Where no stock does, the reservation keeps the share all the same.
 */
void resv_wish_deal_added(const struct cluster *c, const struct resv_wish *w,
                          const struct resv_stock *stocks, size_t count, struct resv *r);
