/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The networks, as topology.conf or topology.yaml beside slurm.conf says: switches in trees
 * (topology/tree), blocks of nodes (topology/block), which are leaves too, or rings of them
 * (topology/ring). topology.conf has one, topology.yaml may have several: a partition names the one
 * that its jobs are placed by.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define CONF_SWITCH_LEVELS_MAX 16
#define CONF_NO_SWITCH UINT32_MAX
#define CONF_RING_NODES_MAX 16

struct bitset;
struct conf;
struct err;
struct str;

enum conf_topo { CONF_TOPO_FLAT, CONF_TOPO_TREE, CONF_TOPO_BLOCK, CONF_TOPO_RING };

struct conf_topo_words { /* of a kind that is not flat */
    const char *plugin;  /* topology/tree; also what topology.yaml calls it: */
    const char *kind;    /* tree */
    const char *key;     /* SwitchName: what its lines begin with */
    const char *unit;    /* switch */
    const char *units;   /* switches */
};
const struct conf_topo_words *conf_topo_words(enum conf_topo kind); /* NULL: flat */

struct conf_switch {
    const char *name;
    const char *switches;      /* its children; NULL: a leaf */
    const char *file_switches; /* as written, without those that nodes have added */
    uint32_t link_speed;
    uint32_t level;          /* 0: a leaf */
    uint32_t parent;         /* index; CONF_NO_SWITCH: none */
    struct bitset *node_set; /* all nodes below it */
    VEC(uint32_t) order;     /* of a ring: its nodes in the file, from its first place on */
    const char *file;
    int line, column; /* column 0: unknown */
};

struct conf_network {
    const char *name; /* "default" unless topology.yaml names it */
    enum conf_topo kind;
    bool optional; /* TopologyParam=TopoOptional: only for jobs that ask for switches */
    VEC(struct conf_switch) switches; /* in order of the file */
    VEC(uint32_t) block_sizes;        /* rising; of blocks, then of blocks of blocks */
    size_t file_count;                /* of the switches, those of the file: the first ones */
    uint32_t *file_leaf;              /* by node: its leaf in the file, or CONF_NO_SWITCH */
};

/* Its index in conf->networks; -1: there is none of that name. */
long conf_find_network(const struct conf *c, const char *name);
/* The index of the network of that name, or of the cluster's default if it is NULL or unknown. */
uint32_t conf_network_index(const struct conf *c, const char *name);
/* The cluster's default network. */
const struct conf_network *conf_default_network(const struct conf *c);

/* Builds the networks anew. placed: by node, what replaces Topology= of its line ("": it is on
 * nothing), or NULL. -ERR_CONFIG: too many levels; the networks are unusable until the next call.
 */
int conf_topo_place(struct conf *c, const char *const *placed, struct err *err);

/* Topology= of a node; -ERR_PARSE: a topology or a unit that it cannot be on. */
int conf_topo_check_units(const struct conf *c, const char *units, struct err *err);

/* What "scontrol show topology" shows of a network, a line for each switch or block; of: a switch,
 * or those that reach all of some nodes (NULL: all). -ERR_NO_NODE: there is neither; nothing: it is
 * flat. 'name': a network; without 'of' it may be what 'of' is; NULL: the default. */
int conf_topo_format(const struct conf *c, const char *name, const char *of, struct str *out,
                     struct err *err);

/* The networks as topology.yaml would have them. */
void conf_topo_format_yaml(const struct conf *c, struct str *out);

/* Of a node: "top.s1.n7", and "switch.switch.node". */
void conf_topo_address(const struct conf *c, const struct conf_network *net, uint32_t node,
                       struct str *address, struct str *pattern);
