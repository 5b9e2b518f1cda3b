/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --exclusive=topo: leaves of the network (leaf switches or blocks) that one job uses exclusively.
 * Nodes of such a leaf on which the job does not run are blocked: no other job starts there.
 * Blocked nodes are not stored: they follow from the nodes of the jobs, and from the networks of
 * their partitions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct bitset;
struct cluster;
struct free_view;
struct job;
struct topo;

/* Returns the network whose leaves the job uses exclusively; NULL: it shares its leaves, or the
 * network is flat. */
const struct topo *leaf_topo(const struct cluster *c, const struct job *j);

/* Updates the index after the job got or released a node. */
void leaf_follow(struct cluster *c, const struct job *j);
/* Returns the nodes that are blocked by a job with an exclusive leaf, for listings. */
struct bitset *leaf_find_blocked(const struct cluster *c);

/* Whether the choice of nodes for the job depends on nodes that the job may not have. */
bool leaf_matters(const struct cluster *c, const struct job *j);

/* Removes the nodes that other jobs block in this view and, for a job with exclusive leaves, the
 * nodes of leaves where any job runs. */
void leaf_narrow(const struct cluster *c, const struct job *j, const struct free_view *view,
                 struct bitset *set);
/* For a job with exclusive leaves: removes each leaf with a node that is not in 'free'. */
void leaf_keep_complete(const struct cluster *c, const struct job *j, const struct bitset *free,
                        struct bitset *set);

/* Adds, in all networks, the other nodes of each leaf that has a node in the set. */
void leaf_widen(const struct cluster *c, struct bitset *set);

/* Returns the job that keeps this one off the node now because one of the two uses the leaf
 * exclusively; NULL: none. */
const struct job *leaf_find_other(const struct cluster *c, const struct job *j, uint32_t node);
/* Returns 0, or -ERR_NODES_BUSY with the id of that job. */
int leaf_check(const struct cluster *c, const struct job *j, uint32_t node, struct err *err);
