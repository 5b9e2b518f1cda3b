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

struct chooser {
    const struct bitset *required; /* NULL: none */
    bool contiguous;
    uint32_t min, max, good; /* nodes; good: as many as that when they are there, between the two */
    uint32_t need;           /* tasks in all */
    struct bitset *fits;     /* nodes that take at least a task; may be narrowed by the choice */
    uint32_t *tasks;         /* by node: how many it takes */
    uint64_t need_more;      /* generic resources in all; 0: none */
    uint64_t *more;          /* by node: how many of those it has */
    const uint32_t *weight;  /* by node */

    struct bitset *chosen; /* empty; the result */
    uint32_t count;
    uint64_t sum; /* of tasks of the chosen */
    uint64_t sum_more;
};

bool choose_nodes(struct chooser *ch); /* false: no choice satisfies the bounds */
