/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hierarchical resources, by resources.yaml beside slurm.conf: each is a set of layers, a layer is
 * a count that a group of nodes has in common. The controller alone reads the file.
 *
 * The file becomes lines of the configuration's text, so that a configuration that is built again
 * (for a dynamic node) has the resources too:
 *   HresConf=NAME Mode=MODE_n [Topology=NAME] [Variables=NAME:VALUE,...]
 *   HresConf=NAME Nodes=HOSTLIST Count=NUMBER [Base=NAME:VALUE,...]       for each layer
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct bitset;
struct str;

#define CONF_HRES_PREFIX "HresConf="
#define CONF_HRES_UNLIMITED UINT64_MAX
#define CONF_HRES_COUNT_MAX 1000000000000000
#define CONF_HRES_LAYERS_MAX 5000 /* of a resource */
#define CONF_HRES_NAME_MAX 255    /* characters */
#define CONF_HRES_NAME_FORM "a name of letters, digits and _-. that does not begin with -"

enum conf_hres_mode {
    CONF_HRES_ONE_LAYER = 1,  /* a job draws its count from one layer that has one of its nodes */
    CONF_HRES_EACH_LAYER = 2, /* from each layer that has one of its nodes */
    CONF_HRES_PER_NODE = 3,   /* from each layer its count for each of its nodes there */
};

struct conf_hres_amount { /* a variable, or a part of what a layer always uses */
    const char *name;
    uint64_t value;
};

struct conf_hres_layer {
    const char *nodes;       /* as a hostlist, sorted: also nodes that do not exist yet */
    struct bitset *node_set; /* those that exist */
    uint64_t count;          /* or CONF_HRES_UNLIMITED */
    uint64_t base;           /* of it in use without jobs: its own, and what layers below it use */
    VEC(struct conf_hres_amount) bases; /* its own */
    const char *file;
    int line, column;
};

struct conf_hres {
    const char *name;
    enum conf_hres_mode mode;
    const char *topology; /* NULL: none */
    VEC(struct conf_hres_amount) variables;
    VEC(struct conf_hres_layer) layers; /* those with the fewest nodes first */
    const char *file;
    int line, column;
};

struct conf_hres_list {
    VEC(struct conf_hres) list; /* in order of the file */
};

void conf_hres_done(struct conf_hres_list *l);
const struct conf_hres *conf_hres_find(const struct conf_hres_list *l, const char *name);
/* NULL: the resource has no such variable. */
const struct conf_hres_amount *conf_hres_find_variable(const struct conf_hres *h, const char *name);
bool conf_hres_is_name(const char *text); /* CONF_HRES_NAME_FORM, of so many characters */
