/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The minimum that components of a set need on idle nodes. joint_could_fit() compares these demands
 * with the configuration to prove that the components can never fit together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "cluster/resource/amounts.h"

struct cluster;
struct gres_wants;
struct request;
struct topo;

struct demand { /* of a component or a part of it */
    struct bitset *nodes;
    uint64_t least_nodes, cpus;
    struct amounts amounts;        /* total over its nodes */
    struct amounts node_amounts;   /* on each of its nodes */
    const struct gres_wants *gres; /* NULL: unknown */
    uint64_t tasks;
    bool whole; /* no other component may use its nodes */
    /* Nodes that it has in any case; NULL: none are known. They are borrowed. */
    const struct bitset *required;
    const struct request *request; /* NULL: it may share units, or the request is not known */
    /* All of its nodes must be in one fabric of this network; NULL: anywhere. */
    const struct topo *topo;
    uint32_t segment;    /* nodes of a segment, all of them in one block; 0: no segments */
    bool segments_apart; /* each segment in a different block */
};

/* joint_possible.c. Whether these nodes satisfy all demands that are limited to them. */
bool joint_has_enough(const struct cluster *c, const struct bitset *nodes,
                      const struct demand *demands, uint32_t count);
/* Whether the two demands together have enough nodes; they share nodes with enough resources for
 * both. */
bool joint_fits_beside(const struct cluster *c, const struct demand *a, const struct demand *b);

/* joint_division.c. Whether each component can have a fabric of its network, and each segment a
 * block, that is large enough for all components in it. Also true when the search is given up. */
bool joint_can_divide(const struct cluster *c, const struct demand *demands, uint32_t count);
