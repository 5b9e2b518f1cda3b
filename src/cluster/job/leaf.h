/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --exclusive=topo: leaves of the network (leaf switches, or blocks) that one job has alone. Nodes
 * of such a leaf where the job does not run are blocked: nothing starts there. This is not stored:
 * it follows from what the jobs hold, and from the networks of their partitions.
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

/* The network whose leaves the job has alone; NULL: it shares its leaves, or the network is flat.
 */
const struct topo *leaf_topo(const struct cluster *c, const struct job *j);

/* The job got a node, or gave one back. */
void leaf_follow(struct cluster *c, const struct job *j);
/* The nodes where nothing starts because a job has their leaf alone, for listings. */
struct bitset *leaf_find_blocked(const struct cluster *c);

/* Whether the choice of nodes for the job depends on nodes that the job may not have. */
bool leaf_matters(const struct cluster *c, const struct job *j);

/* Removes the nodes that other jobs block in this view and, for a job that takes its leaves alone,
 * the nodes of leaves where anything runs. */
void leaf_narrow(const struct cluster *c, const struct job *j, const struct free_view *view,
                 struct bitset *set);
/* Removes the leaves of which a node is not in 'free', for a job that takes its leaves alone. */
void leaf_keep_complete(const struct cluster *c, const struct job *j, const struct bitset *free,
                        struct bitset *set);

/* Adds the rest of each leaf of which a node is in the set, in all networks. */
void leaf_widen(const struct cluster *c, struct bitset *set);

/* The job that keeps this one off the node now, because one of the two takes the leaf alone; NULL:
 * there is none. */
const struct job *leaf_find_other(const struct cluster *c, const struct job *j, uint32_t node);
/* 0; or -ERR_NODES_BUSY, with the name of that job. */
int leaf_check(const struct cluster *c, const struct job *j, uint32_t node, struct err *err);
