/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The network for the selection of nodes: every node is on one leaf (a leaf switch, a block, a ring
 * or a torus). Leaves are numbered so that the leaves below each switch form one range. A node that
 * the configuration does not connect is a leaf and a fabric of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "conf/conf.h"

struct topo_switch {
    /* index into net->switches; CONF_NO_SWITCH: a block of blocks, all of them, or a single
     * unconnected node */
    uint32_t from;
    uint32_t level;      /* 0: a leaf */
    uint32_t first, end; /* range of its leaves */
    bool root;           /* a switch without a parent; no job can span two roots */
};

struct topo_torus {
    uint32_t leaf;
    const struct conf_switch *unit; /* dims, cells and placements */
};

struct topo {
    const struct conf_network *net;
    uint32_t leaves;
    uint32_t *leaf; /* by node */
    /* nodes by leaf: the nodes of leaf i are nodes[first[i]] to nodes[first[i+1]-1]; ring and torus
     * nodes are in network order */
    uint32_t *nodes, *first;
    VEC(struct topo_switch) switches; /* by rising level, then in the order of the file */
    VEC(struct topo_torus) toruses;   /* in the order of the file */
    uint32_t roots;
};

/* NULL: the network is flat. */
struct topo *topo_new(const struct conf *conf, const struct conf_network *net);
void topo_free(struct topo *t);
