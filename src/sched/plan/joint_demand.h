/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What components of a set need at least, on nodes where nothing runs. joint_could_fit() compares
 * these demands with what is configured, to prove that the components never fit beside each other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "cluster/resource/amounts.h"

struct cluster;
struct gres_wants;
struct topo;

struct demand { /* of a component, or of a part of it */
    struct bitset *nodes;
    uint64_t least_nodes, cpus;
    struct amounts amounts;        /* on all of its nodes together, */
    struct amounts node_amounts;   /* and on each of them */
    const struct gres_wants *gres; /* NULL: not known */
    uint64_t tasks;
    bool whole;              /* no other component has a node of these */
    const struct topo *topo; /* all of its nodes are in one fabric of it; NULL: anywhere */
    uint32_t segment;        /* nodes of a segment, all of them in one block; 0: it has none */
    bool segments_apart;     /* each in another block */
};

/* joint_possible.c. Whether these nodes are enough for the demands that may have no others. */
bool joint_has_enough(const struct cluster *c, const struct bitset *nodes,
                      const struct demand *demands, uint32_t count);
/* Whether they have as many nodes together as they need at least, where they share those that have
 * enough for both. */
bool joint_fits_beside(const struct cluster *c, const struct demand *a, const struct demand *b);

/* joint_division.c. Whether each component has a fabric of its network, and each segment a block,
 * which is enough for all that are there. True as well where the search is given up. */
bool joint_can_divide(const struct cluster *c, const struct demand *demands, uint32_t count);
