/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of nodes in rings while single nodes come and go. A node names its position by
 * Topology=NAME:RING:POSITION. When scontrol moves, creates or deletes a node, the others keep
 * their order: those that are at another position afterwards get that one as their Topology=.
 */
#pragma once

#include "cluster/cluster.h"

struct node_rings;

struct node_rings *node_ring_take(const struct conf *c);
void node_ring_free(struct node_rings *orders);

/* Nodes of 'moved' (NULL: none) and new nodes are put where they name it. 'changed': nodes whose
 * Topology= is another one now, for the caller to store. */
void node_ring_keep(const struct node_rings *before, struct cluster *cluster, struct conf *conf,
                    const struct bitset *moved, struct bitset *changed);
