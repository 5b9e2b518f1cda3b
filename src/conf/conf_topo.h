/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The networks, as topology.conf or topology.yaml beside slurm.conf says: switches in trees
 * (topology/tree), blocks of nodes (topology/block), which are leaves too, rings of them
 * (topology/ring), or toruses of cells with a node each (topology/torus3d). topology.conf has one,
 * topology.yaml may have several: a partition names the one that its jobs are placed by.
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

struct conf_topo_words { /* of a kind that is not flat */
    const char *plugin;  /* topology/tree; also what topology.yaml calls it: */
    const char *kind;    /* tree */
    const char *key;     /* SwitchName: what its lines begin with */
    const char *unit;    /* switch */
    const char *units;   /* switches */
};
const struct conf_topo_words *conf_topo_words(enum conf_topo kind); /* NULL: flat */

struct conf_placement { /* a shape that jobs may have in a torus, and where */
    uint32_t dims[CONF_AXES];
    uint32_t seed[CONF_AXES], spacing[CONF_AXES]; /* its corners: seed + i * spacing */
};

struct conf_switch {
    const char *name;
    const char *switches;      /* its children; NULL: a leaf */
    const char *file_switches; /* as written, without those that nodes have added */
    uint32_t link_speed;
    uint32_t level;          /* 0: a leaf */
    uint32_t parent;         /* index; CONF_NO_SWITCH: none */
    struct bitset *node_set; /* all nodes below it */
    VEC(uint32_t)
    order;               /* of a ring: its nodes in the file, from its first place on; of a
                            torus: by cell, its node in the file or CONF_NO_NODE */
    VEC(uint32_t) cells; /* of both: the same, with nodes where Topology= puts them */
    uint32_t dims[CONF_AXES];
    VEC(struct conf_placement) placements;
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
/* Whether the networks have names, by topology.yaml. */
bool conf_topo_has_names(const struct conf *c);
/* The index of the network of that name, or of the cluster's default if it is NULL or unknown. */
uint32_t conf_network_index(const struct conf *c, const char *name);
/* The cluster's default network. */
const struct conf_network *conf_default_network(const struct conf *c);

/* Builds the networks anew. placed: by node, what replaces Topology= of its line ("": it is on
 * nothing), or NULL. -ERR_CONFIG: too many levels; the networks are unusable until the next call.
 */
int conf_topo_place(struct conf *c, const char *const *placed, struct err *err);

/* Checks a Topology= for 'count' nodes. -ERR_PARSE: it names a topology or unit that cannot have
 * them. */
int conf_topo_check_units(const struct conf *c, const char *units, size_t count, struct err *err);

/* Of the ring of this network that a Topology= names. false: it names none. */
bool conf_ring_find_position(const struct conf_network *net, const char *list, uint32_t *position);
/* The list with another position; the caller frees. */
char *conf_ring_set_position(const struct conf_network *net, const char *list, uint32_t position);

/* Cells of a torus are counted with x varying fastest. */
uint32_t conf_torus_cell(const uint32_t dims[CONF_AXES], const uint32_t at[CONF_AXES]);

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
