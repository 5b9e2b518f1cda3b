/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rotation of gang scheduling: which of the jobs that share resources run in the present slice,
 * and which are suspended. Pure: a rotation is a queue of members, and the active set is built from
 * that queue by first fit.
 *
 * A member that takes part is in the active set or waits. rotation_turn() moves the active members
 * to the end of the queue and builds the active set anew, beginning with the member that has waited
 * longest. rotation_settle() changes as little as possible: active members stay active, also beside
 * pinned ones that their orders wait for, and waiting members join where they fit beside all of
 * these.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/vec.h"

struct rotation_use { /* what a member has of a node */
    uint32_t node;
    const struct bitset *units; /* borrowed */
    uint32_t count, of;         /* of so many units of the node */
};

struct rotation_member {
    uint32_t id;
    uint64_t place; /* in the queue: the lowest is the first */
    bool runs;      /* it is in the active set */
    bool pinned; /* its resources are in use whatever is decided: it is ending, or still stopping */
    int64_t left_ms, ends_ms; /* see forecast_ends() */
    VEC(struct rotation_use) uses;
};

struct rotation {
    bool counts;   /* units are interchangeable: as many may be in use as the node has */
    size_t nodes;  /* nodes are numbered below this */
    uint64_t last; /* the highest place that was given */
    VEC(struct rotation_member) members;
};

struct rotation_member *rotation_add(struct rotation *r, uint32_t id, uint64_t place, bool runs);
void rotation_use_node(struct rotation_member *m, const struct rotation_use *use);
void rotation_done(struct rotation *r);

void rotation_sort(struct rotation *r); /* by place */
/* Both leave the members sorted by place, with 'runs' as decided. Pinned members keep it. */
void rotation_turn(struct rotation *r);
void rotation_settle(struct rotation *r);

/* Whether a member waits that is not pinned. */
bool rotation_waits(const struct rotation *r);
/* Whether two members cannot run at once, whatever else runs. With interchangeable units only the
 * sum of all that run matters: see rotation_settle(). */
bool rotation_excludes(const struct rotation_member *a, const struct rotation_member *b);
