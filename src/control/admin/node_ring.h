/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of nodes in rings while single nodes are added or removed. A node names its position by
 * Topology=NAME:RING:POSITION. When scontrol moves, creates or deletes a node, the other nodes keep
 * their order: each node whose position changes gets its new position as Topology=.
 */
#pragma once

#include "cluster/cluster.h"

struct node_rings;

struct node_rings *node_ring_take(const struct conf *c);
void node_ring_free(struct node_rings *orders);

/* Restores the order. Nodes of 'moved' (NULL: none) and new nodes take the position that they name.
 * 'changed' receives the nodes whose Topology= has changed; the caller stores them. */
void node_ring_keep(const struct node_rings *before, struct cluster *cluster, struct conf *conf,
                    const struct bitset *moved, struct bitset *changed);
