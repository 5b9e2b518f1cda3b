/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a name stands for: a node, a partition, or the nodes of an expression. */
#pragma once

#include "base/bitset.h"
#include "base/err.h"

struct cluster;
struct hostlist;

struct node *cluster_find_node(const struct cluster *c, const char *name);
struct part *cluster_find_part(const struct cluster *c, const char *name);
struct part *cluster_default_part(const struct cluster *c);

/* A host list of a user: -ERR_LIMIT, before names are made, where it has far more of them than
 * there are nodes, and than it has bytes. "a[0-999]x[0-999]y" is a million names, each of 10 bytes.
 */
int cluster_parse_hosts(const struct cluster *c, const char *expr, struct hostlist **out,
                        struct err *err);
/* The set of nodes an expression names; -ERR_NO_NODE names the unknown one. The caller frees. */
int cluster_node_set(const struct cluster *c, const char *expr, struct bitset **out,
                     struct err *err);
/* Adds what a word of such an expression names: a node, a NodeSet, or the nodes of a function. */
int cluster_add_named(const struct cluster *c, const char *word, struct bitset *set,
                      struct err *err);
/* Whether the expression changes a set of nodes: "+lx0,-lx[2-4]". A word without a sign has that of
 * the word before. cluster_edit_nodes() does it. */
bool cluster_is_edit(const char *expr);
int cluster_edit_nodes(const struct cluster *c, const char *expr, struct bitset *nodes,
                       struct err *err);
