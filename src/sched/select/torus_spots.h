/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Toruses during a choice of nodes, and their spots: a spot is a placement at one corner. Sums of
 * values over boxes of the cells of a torus make the time for a box independent of its size.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "conf/conf.h"
#include "sched/select/choose.h"

/* 'dims' cells on each axis from 'first' on; behind the last cell of an axis comes its first. */
struct torus_box {
    uint32_t first[CONF_AXES], dims[CONF_AXES];
};

struct torus_sums {
    uint32_t dims[CONF_AXES];
    uint64_t *sum; /* by (x, y, z), x fastest: of all cells below x, y and z */
};

uint64_t torus_sums_of(const struct torus_sums *s, const struct torus_box *box);

struct torus_view {
    const struct chooser *ch;
    const struct conf_switch *unit;
    uint32_t free;                                   /* number of nodes that fit */
    uint32_t lightest;                               /* the smallest weight of these nodes */
    bool has_weights;                                /* not all of these nodes have that weight */
    struct torus_sums is_free;                       /* value of a cell: 1 if its node fits */
    struct torus_sums weight, tasks, more, required; /* summed at the first use */
    struct torus_sums
        *corners; /* by placement; value of a corner: 1 if the spot is free; as above */
    uint32_t *
        *numbers; /* by placement and corner: 1 + index of the spot in the list; NULL: not set */
};

struct torus_spot {
    struct torus_view *view;
    struct torus_box box;
    uint32_t placement, corner; /* numbers in the torus, and in the placement */
    uint32_t size;              /* nodes */
    uint64_t weight, tasks, more, required;
    uint64_t cost; /* see torus_spot_cost(); TORUS_NO_COST: not computed yet */
};
#define TORUS_NO_COST UINT64_MAX

struct torus_spots {
    VEC(struct torus_spot) list;
};

struct torus_views {
    struct torus_view *views; /* by torus of the network */
    size_t count;
};

void torus_views_init(struct torus_views *c, const struct chooser *ch);
void torus_views_done(struct torus_views *c);
/* The free spots of at least 'min' and at most 'max' nodes, in the order of the file. */
void torus_views_list(struct torus_views *c, uint32_t min, uint32_t max, struct torus_spots *out);
/* Like torus_views_list(), up to the first spot that passes the test; this spot is the last one in
 * the list. False: no spot passes. */
typedef bool torus_spot_test(void *ctx, const struct torus_spot *s);
bool torus_views_find(struct torus_views *c, uint32_t min, uint32_t max, torus_spot_test *is_last,
                      void *ctx, struct torus_spots *out);
/* Whether a placement of 'min' to 'max' nodes lies within 'nodes' and has all of 'required', free
 * or not. */
bool torus_has_placement(const struct conf_switch *unit, uint32_t min, uint32_t max,
                         const struct bitset *nodes, const struct bitset *required);
/* The sum of the sizes of all free spots that have a node in common with this one. */
uint64_t torus_spot_cost(struct torus_spot *s);
uint32_t torus_spot_node(const struct torus_spot *s, uint32_t i);

/* Lets torus_spots_around() find the spots of this list, which must not change afterwards. */
void torus_views_number(struct torus_views *c, const struct torus_spots *list);
/* Calls 'visit' with the index of each spot of that list that has a node in common with the box.
 * Returns the number of corners that were looked at. */
typedef void torus_spot_visit(void *ctx, uint32_t number);
uint32_t torus_spots_around(const struct torus_view *v, const struct torus_box *box,
                            torus_spot_visit *visit, void *ctx);
