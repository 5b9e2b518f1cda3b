/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the tests of this room: drawn hierarchies of layers. */
#pragma once

#include "cluster/job/license_layer.h"
#include "sched/sched_test_util.h"

#define TEST_LAYERED_NODES 32 /* at most */

/* A layer of the nodes order[first...], and below it two, or none. */
static inline void test_divide_layer(struct cluster *c, uint64_t *chance, const char *name,
                                     enum conf_hres_mode mode, const uint8_t *order, uint32_t count)
{
    struct bitset *nodes = bitset_new(c->nodes.len);
    uint32_t left = count > 1 ? test_between(chance, 1, count - 1) : 0;
    for (uint32_t i = 0; i < count; i++)
        bitset_set(nodes, order[i]);
    license_add_layer(c, name, mode, nodes, test_between(chance, 1, 2 + count));
    if (left && test_between(chance, 0, 3)) {
        test_divide_layer(c, chance, name, mode, order, left);
        test_divide_layer(c, chance, name, mode, order + left, count - left);
    }
}

/* A resource whose root has all nodes of the cluster. */
static inline void test_draw_layers(struct cluster *c, uint64_t *chance, const char *name,
                                    enum conf_hres_mode mode)
{
    uint8_t order[TEST_LAYERED_NODES];
    assert_in_range(c->nodes.len, 1, TEST_LAYERED_NODES);
    for (uint32_t i = 0; i < c->nodes.len; i++) {
        uint32_t at = test_between(chance, 0, i);
        order[i] = order[at];
        order[at] = (uint8_t)i;
    }
    test_divide_layer(c, chance, name, mode, order, (uint32_t)c->nodes.len);
}
