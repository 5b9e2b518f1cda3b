/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice among nodes that fit: lowest weight first, then the fewest and tightest runs of
 * consecutive nodes (CORE-137 to 142). It finds nodes whenever there are enough: when the orderly
 * choice is too small within the maximum of nodes, those that take the most tasks are taken.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/idset.h"

#define CHOOSE_COUNTS_MAX 8

/* Of the chosen nodes so many must be of this sort, and so many of that one. */
struct choose_counts {
    uint32_t sorts, nodes[CHOOSE_COUNTS_MAX];
    bool apart;           /* a node counts for one sort, not for each that it is of */
    const uint8_t *of;    /* by kind: bit i: of sort i */
    const uint32_t *kind; /* by node */
};

struct topo;

struct chooser {
    const struct bitset *required; /* NULL: none */
    const struct topo *topo;       /* the network to choose by; NULL: nodes in a row */
    uint32_t max_leaves;           /* of it; 0: any number */
    uint32_t segment;              /* nodes of a segment, unless the network is a tree; 0: any */
    bool segments_apart, segments_together; /* one of a block; all in one block of blocks */
    bool spread;                            /* over many nodes: within a fabric it does not count */
    const uint32_t *idle; /* by node: those with the most idle CPUs first; NULL: runs of nodes */
    bool from_end;        /* the last ones first, in the place of runs */
    const struct choose_counts *counts; /* NULL: none */
    bool contiguous;
    bool any_will_do;          /* the question is whether there is a choice, not which */
    const struct idset *sizes; /* the numbers of nodes that are allowed; NULL: all */
    uint32_t min, max,
        good;            /* nodes; good: the number to take when that many fit, from min to max */
    uint32_t need;       /* tasks in all */
    struct bitset *fits; /* nodes that take at least a task; may be narrowed by the choice */
    uint32_t *tasks;     /* by node: how many it takes */
    uint64_t need_more;  /* generic resources in all; 0: none */
    uint64_t *more;      /* by node: how many of those it has */
    const uint32_t *weight; /* by node */

    struct bitset *chosen; /* empty; the result */
    uint32_t count;
    uint64_t sum; /* of tasks of the chosen */
    uint64_t sum_more;
    uint64_t steps; /* that a search for segments took */
};

bool choose_nodes(struct chooser *ch); /* false: no choice satisfies the bounds */
/* Lowers the maximum to the largest number of nodes that is allowed, of at most 'most'. */
bool choose_largest(struct chooser *ch, uint32_t most);

/* --- choose_counts.c: with counts, for choose_nodes() ------------------------------------------
 */
bool choose_counted(struct chooser *ch);

/* How many nodes of a set, for each set of sorts, are of one of them. */
struct choose_tally {
    uint32_t hits[1u << CHOOSE_COUNTS_MAX];
};
void choose_tally_add(struct choose_tally *t, const struct chooser *ch, size_t node, bool add);
/* Whether nodes that were counted like this satisfy all counts. */
bool choose_tally_does(const struct choose_tally *t, const struct chooser *ch);

/* By the network, all nodes in one segment. */
bool choose_in_network(struct chooser *ch);

/* --- choose_topo.c: by the network, for choose_nodes() -----------------------------------------
 */
bool choose_by_topo(struct chooser *ch);
/* choose_segments.c: the same in whole segments. */
bool choose_segments(struct chooser *ch);
/* choose_ring.c: in a network of rings. */
bool choose_in_ring(struct chooser *ch);
/* The fewest segments with all required nodes of a ring, and the most that it has room for; false:
 * some required nodes fit in none. */
bool choose_ring_room(const struct chooser *ch, uint32_t leaf, uint32_t *least, uint32_t *most);
/* Adds the nodes of 'count' segments of the ring. */
void choose_ring_add(struct chooser *ch, uint32_t leaf, uint32_t count, bool capable);
/* choose_torus.c: a sub-cube of a torus. */
bool choose_in_torus(struct chooser *ch);
/* choose_torus_segments.c: tries 'good' segments first, then fewer down to 'least', then more up to
 * 'most'. The steps of all these searches have a limit, beside the work to list and sort the spots.
 */
#define TORUS_STEPS_MOST 500000
bool choose_torus_segments(struct chooser *ch, uint32_t least, uint32_t good, uint32_t most);
/* Without a look at switches, and yet all within one fabric. */
bool choose_in_fabric(struct chooser *ch);

/* For these files. The choice becomes empty, or has the required nodes alone; it gets a node; it
 * satisfies the bounds; it gets the lightest nodes of a set until it satisfies them and has 'good'
 * nodes, where the set has them. */
void choose_nothing(struct chooser *ch);
void choose_start(struct chooser *ch);
void choose_add(struct chooser *ch, size_t node);
bool choose_enough(const struct chooser *ch);
void choose_light(struct chooser *ch, const struct bitset *among);
bool choose_flat(struct chooser *ch); /* nodes in a row */
