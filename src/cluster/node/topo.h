/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The network as choices of nodes need it: every node is on one leaf (a leaf switch, a block, a
 * ring or a torus), and leaves are numbered so that each switch has those from one number to
 * another below it. A node that the configuration connects to nothing is a leaf and a fabric of its
 * own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "conf/conf.h"

struct topo_switch {
    uint32_t from;       /* index into net->switches; CONF_NO_SWITCH: a block of blocks, all
                            of them, or a node that is alone */
    uint32_t level;      /* 0: a leaf */
    uint32_t first, end; /* its leaves */
    bool root;           /* it is below no other: jobs reach no farther */
};

struct topo_torus {
    uint32_t leaf;
    const struct conf_switch *unit; /* dims, cells and placements */
};

struct topo {
    const struct conf_network *net;
    uint32_t leaves;
    uint32_t *leaf;          /* by node */
    uint32_t *nodes, *first; /* nodes by leaf: those of leaf i from nodes[first[i]] to first[i+1],
                                of a ring or torus in its order */
    VEC(struct topo_switch) switches; /* by rising level, then as in the file */
    VEC(struct topo_torus) toruses;   /* as in the file */
    uint32_t roots;
};

/* NULL: the network is flat. */
struct topo *topo_new(const struct conf *conf, const struct conf_network *net);
void topo_free(struct topo *t);
