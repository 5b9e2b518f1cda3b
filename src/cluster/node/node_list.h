/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes as listings show them. */
#pragma once

#include "base/pb.h"
#include "cluster/cluster.h"

/* A node as listings show it. Texts are borrowed from the node or are in the view's arena. */
struct node_view {
    Pb__NodeRecord record;
    struct str parts, gres, spec, restricted;
    struct arena arena;
};
void node_view_init(struct node_view *v);
void node_view_done(struct node_view *v);
/* Fields that are not in 'fields' may be left unset. */
void node_view_set(struct node_view *v, const struct cluster *c, const struct node *n,
                   const struct pb_fields *fields);

struct node_query {
    const struct bitset *nodes;   /* NULL: all */
    const struct bitset *blocked; /* see leaf_find_blocked(); NULL: none */
    const struct bitset *planned; /* nodes of planned starts, including busy nodes; NULL: none */
    struct pb_fields fields;      /* fields of NodeRecord; the name is always included */
    bool group;                   /* see Pb__NodeFilter */
};
/* Appends elements of a NodeList, starting with the node at *cursor, until they exceed 'budget'
 * bytes or many nodes were visited. Returns true when nodes are left. */
bool node_list(const struct cluster *c, const struct node_query *q, uint64_t *cursor, size_t budget,
               struct str *out);
