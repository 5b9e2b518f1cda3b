/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hierarchical resources, defined in resources.yaml beside slurm.conf: each is a set of layers,
 * and a layer is a count shared by a group of nodes. Only the controller reads the file.
 *
 * The file is converted to lines of the configuration's text, so that a configuration that is
 * built again (for a dynamic node) includes the resources:
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
#define CONF_HRES_MAX 1000          /* resources */
#define CONF_HRES_LAYERS_MAX 5000   /* layers per resource */
#define CONF_HRES_NAMES_MAX 2000000 /* names of nodes in all layers of all resources */
#define CONF_HRES_NAME_MAX 255      /* characters */
#define CONF_HRES_NAME_FORM "a name of letters, digits and _-. that does not begin with -"

enum conf_hres_mode {
    CONF_HRES_ONE_LAYER = 1,  /* a job draws its count from one layer that has one of its nodes */
    CONF_HRES_EACH_LAYER = 2, /* from each layer that has one of its nodes, once */
    CONF_HRES_PER_NODE = 3,   /* from each layer, its count for each of its nodes in the layer */
};

struct conf_hres_amount { /* a variable, or a part of a layer's base use */
    const char *name;
    uint64_t value;
};

struct conf_hres_layer {
    const char *nodes;       /* sorted hostlist, including nodes that do not exist yet */
    struct bitset *node_set; /* the existing ones */
    uint64_t count;          /* or CONF_HRES_UNLIMITED */
    /* Part of the count that is always in use: its own base, and that of layers below it. */
    uint64_t base;
    VEC(struct conf_hres_amount) bases; /* its own base use */
    const char *file;
    int line, column;
};

struct conf_hres {
    const char *name;
    enum conf_hres_mode mode;
    const char *topology; /* NULL: none */
    VEC(struct conf_hres_amount) variables;
    VEC(struct conf_hres_layer) layers; /* ordered by number of nodes, ascending */
    const char *file;
    int line, column;
};

struct conf_hres_list {
    VEC(struct conf_hres) list; /* in the order of the file */
    size_t names;               /* of nodes, in all layers */
};

void conf_hres_done(struct conf_hres_list *l);
const struct conf_hres *conf_hres_find(const struct conf_hres_list *l, const char *name);
/* NULL: the resource has no such variable. */
const struct conf_hres_amount *conf_hres_find_variable(const struct conf_hres *h, const char *name);
/* CONF_HRES_NAME_FORM, with at most that number of characters */
bool conf_hres_is_name(const char *text);
