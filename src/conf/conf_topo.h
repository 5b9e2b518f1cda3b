/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The networks in topology.conf or topology.yaml beside slurm.conf: trees of switches
 * (topology/tree), blocks of nodes (topology/block), which are leaves as well, rings of nodes
 * (topology/ring), or toruses of cells with one node each (topology/torus3d). topology.conf has
 * one network, topology.yaml may have several; a partition names the network used for placing its
 * jobs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define CONF_SWITCH_LEVELS_MAX 16
#define CONF_NO_SWITCH UINT32_MAX
#define CONF_RING_NODES_MAX 16
#define CONF_NO_NODE UINT32_MAX
#define CONF_AXES 3 /* of a torus: x, y, z */

struct bitset;
struct conf;
struct err;
struct str;

enum conf_topo { CONF_TOPO_FLAT, CONF_TOPO_TREE, CONF_TOPO_BLOCK, CONF_TOPO_RING, CONF_TOPO_TORUS };

struct conf_topo_words { /* the words of a kind that is not flat */
    const char *plugin;  /* topology/tree; topology.yaml uses: */
    const char *kind;    /* tree */
    const char *key;     /* SwitchName: first key of its lines */
    const char *unit;    /* switch */
    const char *units;   /* switches */
};
const struct conf_topo_words *conf_topo_words(enum conf_topo kind); /* NULL: flat */

struct conf_placement { /* a shape that jobs may have in a torus, and its positions */
    uint32_t dims[CONF_AXES];
    uint32_t seed[CONF_AXES], spacing[CONF_AXES]; /* corners are at seed + i * spacing */
};

struct conf_switch {
    const char *name;
    const char *switches;      /* its children; NULL: a leaf */
    const char *file_switches; /* as in the file, without switches that nodes have added */
    uint32_t link_speed;
    uint32_t level;          /* 0: a leaf */
    uint32_t parent;         /* index; CONF_NO_SWITCH: none */
    struct bitset *node_set; /* all nodes below it */
    VEC(uint32_t)
    /* Ring: its nodes in the file, from the first position on; torus: the node in the file by
       cell, or CONF_NO_NODE. */
    order;
    VEC(uint32_t) cells; /* ring and torus: the same with Topology= of nodes applied */
    uint32_t dims[CONF_AXES];
    VEC(struct conf_placement) placements;
    const char *file;
    int line, column; /* column 0: unknown */
};

struct conf_network {
    const char *name; /* "default" unless topology.yaml names it */
    enum conf_topo kind;
    bool optional; /* TopologyParam=TopoOptional: applies only to jobs that request switches */
    VEC(struct conf_switch) switches; /* in the order of the file */
    VEC(uint32_t) block_sizes;        /* ascending; of blocks, then of blocks of blocks */
    size_t file_count;                /* number of switches from the file, which come first */
    uint32_t *file_leaf;              /* by node: its leaf in the file, or CONF_NO_SWITCH */
};

/* Returns its index in conf->networks; -1: there is none with that name. */
long conf_find_network(const struct conf *c, const char *name);
/* Returns the index of the network with that name, or of the cluster's default if name is NULL or
 * unknown. */
uint32_t conf_network_index(const struct conf *c, const char *name);
/* The cluster's default network. */
const struct conf_network *conf_default_network(const struct conf *c);

/* Builds the networks again. placed: by node, overrides Topology= of its line ("": it is in no
   network), or NULL. -ERR_CONFIG: too many levels; the networks are unusable until the next
   call. */
int conf_topo_place(struct conf *c, const char *const *placed, struct err *err);

/* Checks a Topology= value for 'count' nodes. -ERR_PARSE: it names a topology or unit that cannot
 * have them. */
int conf_topo_check_units(const struct conf *c, const char *units, size_t count, struct err *err);

/* Finds the position in a ring of this network in a Topology= value. false: it names none. */
bool conf_ring_find_position(const struct conf_network *net, const char *list, uint32_t *position);
/* Returns the list with another position; the caller frees it. */
char *conf_ring_set_position(const struct conf_network *net, const char *list, uint32_t position);

/* Returns the number of a cell; cells are numbered with x varying fastest. */
uint32_t conf_torus_cell(const uint32_t dims[CONF_AXES], const uint32_t at[CONF_AXES]);

/* Prints a network for "scontrol show topology", one line per switch or block. of: a switch, or
 * some nodes, for the switches that reach all of them (NULL: all). -ERR_NO_NODE: no such switch or
 * node; no output: the network is flat. 'name': a network; without 'of' it may also be a value for
 * 'of'; NULL: the default network. */
int conf_topo_format(const struct conf *c, const char *name, const char *of, struct str *out,
                     struct err *err);

/* Prints the networks in the format of topology.yaml. */
void conf_topo_format_yaml(const struct conf *c, struct str *out);

/* The address of a node: "top.s1.n7", and "switch.switch.node". */
void conf_topo_address(const struct conf *c, const struct conf_network *net, uint32_t node,
                       struct str *address, struct str *pattern);
