/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology.conf, topology.yaml and Topology= of nodes, for the files that read them. */
#pragma once

#include "conf/conf_internal.h"

/* A topology consists of lines "TopologyConf=MARK ...", also for topology.yaml. MARK is NAME:KIND
 * in the first line of a topology in topology.yaml, and CONF_TOPO_MARK_LINE otherwise. */
#define CONF_TOPO_MARK_LINE "1"
#define CONF_TOPO_PREFIX "TopologyConf=" CONF_TOPO_MARK_LINE " "
int conf_topo_read_yaml(struct conf_loader *l, const char *path, struct err *err);
void conf_topo_done(struct conf *c);
/* Refuses a value that is not exactly one name. */
int conf_topo_check_name(const struct conf_value *v, const char *key, struct err *err);
#define CONF_SWITCHES_MAX 100000 /* per network */

/* conf_torus.c: handles a row that defines a torus, or a region or placement of the torus defined
   last. */
int conf_torus_take_row(struct conf_loader *l, struct conf_network *net, const struct conf_row *row,
                        struct bitset *taken, struct err *err);
void conf_torus_warn(struct conf_loader *l, const struct conf_network *net);
void conf_torus_reset(struct conf_switch *s); /* moves nodes back to the cells in the file */
void conf_torus_move_nodes(struct conf_loader *l, struct conf_network *net,
                           const char *const *placed, struct bitset *taken);
/* The cell at the end of a path TORUS:X:Y:Z. */
struct conf_torus_place {
    uint32_t torus, cell;
};
int conf_torus_read_place(const struct conf_network *net, char *path, const char *list,
                          struct conf_torus_place *out, struct err *err);
/* -ERR_PARSE: the cell has a node. */
int conf_torus_check_empty(const struct conf *c, const struct conf_network *net,
                           const struct conf_torus_place *place, const char *list, struct err *err);
void conf_torus_format(const struct conf *c, const struct conf_switch *s, size_t number,
                       struct str *out);
void conf_torus_format_yaml(const struct conf *c, const struct conf_switch *s, struct str *out);

/* conf_ring.c: positions of nodes in rings. */
void conf_ring_move_nodes(struct conf_loader *l, struct conf_network *net,
                          const char *const *placed, struct conf_index *index,
                          struct bitset *taken);
/* Checks a path RING:POSITION for 'count' nodes; modifies the path. */
int conf_ring_check_place(const struct conf_network *net, char *path, const char *list,
                          size_t count, struct err *err);

/* conf_topo_node.c */
struct conf_place conf_topo_place_of_row(const struct conf_node_row *row);
long conf_topo_find_unit(const struct conf_network *net, const char *name); /* -1: none */
/* Adds a unit that no line defines; 'name' lives as long as the network. */
uint32_t conf_topo_add_unit(struct conf_loader *l, struct conf_network *net,
                            struct conf_index *index, const char *name,
                            const struct conf_node_row *row);
/* Reports an invalid list once for all nodes that have it from the same line. 'reported' is 0 for
 * the first node, and then the result of the previous call. */
size_t conf_topo_tell_bad_list(struct conf_loader *l, const char *const *placed, size_t node,
                               size_t reported, const struct err *err);
/* Removes the node from its place in the file. */
void conf_topo_take_off(struct conf_network *net, struct bitset *taken, size_t node);
/* Returns the Topology= of a node: from 'placed' if that has the node, else from slurm.conf. NULL:
 * none; the lines of the networks place the node. */
const char *conf_topo_list_of(const struct conf *c, const char *const *placed, size_t node);
/* Returns the path after "NETWORK:" in the list; NULL: the list does not name that network. */
char *conf_topo_path_in(struct conf_loader *l, const char *list, const char *network);
/* Applies Topology= of nodes, from conf_topo_place() or NULL. 'index' must have space for
 * conf_topo_units_most() more names. */
void conf_topo_move_nodes(struct conf_loader *l, struct conf_network *net,
                          const char *const *placed, struct conf_index *index,
                          struct bitset *taken);
size_t conf_topo_units_most(const struct conf *c, const char *const *placed);
void conf_topo_check_nodes(struct conf_loader *l);
