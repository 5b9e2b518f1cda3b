/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the tests of rotations: jobs on NODES nodes of UNITS units each, which the test defines. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
/* cmocka needs those above */
#include <cmocka.h>

#include "base/mem.h"
#include "base/test_drawn.h"
#include "sched/gang/rotation.h"

struct bench {
    struct rotation r;
    VEC(struct bitset *) sets;
};

static inline void bench_done(struct bench *b)
{
    rotation_done(&b->r);
    vec_foreach (&b->sets, set)
        bitset_free(*set);
    vec_done(&b->sets);
}

/* A job has units [first, first + count) of the nodes [from, from + nodes). */
static inline struct rotation_member *bench_add(struct bench *b, uint32_t id, uint32_t from,
                                                uint32_t nodes, uint32_t first, uint32_t count)
{
    struct bitset *set = bitset_new(UNITS);
    bitset_set_range(set, first, count);
    vec_push(&b->sets, set);
    b->r.nodes = NODES;
    struct rotation_member *m = rotation_add(&b->r, id, ++b->r.last, false);
    for (uint32_t i = 0; i < nodes; i++)
        rotation_use_node(m, &(struct rotation_use){from + i, set, count, UNITS});
    return m;
}
