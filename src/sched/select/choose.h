/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice among nodes that fit: lowest weight first, then the fewest and tightest runs of
 * consecutive nodes (CORE-137 to 142). It succeeds whenever there are enough nodes: if the
 * preferred choice is too small within the maximum number of nodes, the nodes that take the most
 * tasks are chosen instead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/idset.h"

#define CHOOSE_COUNTS_MAX 8

/* Requires a number of nodes of each sort among the chosen nodes. */
struct choose_counts {
    uint32_t sorts, nodes[CHOOSE_COUNTS_MAX];
    bool apart;           /* a node counts for one sort only, not for each of its sorts */
    const uint8_t *of;    /* by kind; bit i: the kind belongs to sort i */
    const uint32_t *kind; /* by node */
};

struct topo;

struct chooser {
    const struct bitset *required; /* NULL: none */
    const struct topo *topo;       /* the network to use for the choice; NULL: nodes in a row */
    uint32_t max_leaves;           /* maximum leaves of the network; 0: any number */
    uint32_t segment;              /* nodes of a segment, except in a tree; 0: none */
    /* One segment per block; all segments in one block of blocks. */
    bool segments_apart, segments_together;
    bool spread; /* use many nodes: ignore the network within a fabric */
    /* By node: idle CPUs, nodes with the most first; NULL: choose runs of nodes. */
    const uint32_t *idle;
    bool from_end;                      /* prefer the last nodes instead of runs */
    const struct choose_counts *counts; /* NULL: none */
    bool contiguous;
    bool any_will_do;          /* any choice will do: only its existence matters */
    const struct idset *sizes; /* permitted node counts; NULL: all */
    uint32_t min, max,
        good;               /* nodes; good: the number to choose from min to max if that many fit */
    uint32_t need;          /* total tasks */
    struct bitset *fits;    /* nodes that take at least one task; the choice may remove nodes */
    uint32_t *tasks;        /* by node: number of tasks that it takes */
    uint64_t need_more;     /* total generic resources; 0: none */
    uint64_t *more;         /* by node: its part of 'need_more' */
    const uint32_t *weight; /* by node */

    struct bitset *chosen; /* the result, initially empty */
    uint32_t count;
    uint64_t sum; /* tasks on the chosen nodes */
    uint64_t sum_more;
    uint64_t steps; /* steps of the search for segments */
};

bool choose_nodes(struct chooser *ch); /* false: no choice satisfies the bounds */
/* Lowers the maximum to the largest permitted node count that is at most 'most'. */
bool choose_largest(struct chooser *ch, uint32_t most);

/* --- choose_counts.c: choice with counts, for choose_nodes() ------------------------------------
 */
bool choose_counted(struct chooser *ch);

/* For each set of sorts, the number of nodes that belong to at least one of the sorts. */
struct choose_tally {
    uint32_t hits[1u << CHOOSE_COUNTS_MAX];
};
void choose_tally_add(struct choose_tally *t, const struct chooser *ch, size_t node, bool add);
/* Whether the tallied nodes satisfy all counts. */
bool choose_tally_does(const struct choose_tally *t, const struct chooser *ch);

/* Chooses by the network. The nodes form one segment. */
bool choose_in_network(struct chooser *ch);

/* --- choose_topo.c: choice by the network, for choose_nodes() -----------------------------------
 */
bool choose_by_topo(struct chooser *ch);
/* choose_segments.c: the same choice in whole segments. */
bool choose_segments(struct chooser *ch);
/* choose_ring.c: choice in a network of rings. */
bool choose_in_ring(struct chooser *ch);
/* Returns the least number of segments that contain all required nodes of a ring, and the greatest
 * number that fits into it. False: some required nodes fit into no segment. */
bool choose_ring_room(const struct chooser *ch, uint32_t leaf, uint32_t *least, uint32_t *most);
/* Adds the nodes of 'count' segments of the ring to the choice. */
void choose_ring_add(struct chooser *ch, uint32_t leaf, uint32_t count, bool capable);
/* choose_torus_segments.c: choice of a sub-cube of a torus. */
bool choose_in_torus(struct chooser *ch);
/* Tries 'good' segments first, then fewer down to 'least', then more up to
 * 'most'. The steps of all these searches have a limit, beside the work to list and sort the spots.
 */
#define TORUS_STEPS_MOST 500000
bool choose_torus_segments(struct chooser *ch, uint32_t least, uint32_t good, uint32_t most);
/* Chooses nodes of one fabric without regard to its switches. */
bool choose_in_fabric(struct chooser *ch);

/* Internal functions of these files. choose_nothing() empties the choice; choose_start() leaves
 * only the required nodes; choose_add() adds a node; choose_enough() tests the bounds;
 * choose_light() adds the lightest nodes of a set until the choice satisfies the bounds and has
 * 'good' nodes, if the set has as many. */
void choose_nothing(struct chooser *ch);
void choose_start(struct chooser *ch);
void choose_add(struct chooser *ch, size_t node);
bool choose_enough(const struct chooser *ch);
void choose_light(struct chooser *ch, const struct bitset *among);
bool choose_flat(struct chooser *ch); /* nodes in a row */
