/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology.conf, topology.yaml and Topology= of nodes, for the files that read them. */
#pragma once

#include "conf/conf_internal.h"

/* Lines of topology.conf, or made of topology.yaml. */
#define CONF_TOPO_MARK_LINE "1" /* a line of the topology before it, or of topology.conf */
#define CONF_TOPO_PREFIX "TopologyConf=" CONF_TOPO_MARK_LINE " "
int conf_topo_read_yaml(struct conf_loader *l, const char *path, struct err *err);
void conf_topo_done(struct conf *c);
/* Topology of nodes, placed as in conf_topo_place() or NULL: 'index' of names has room for
 * conf_topo_units_most() more. */
void conf_topo_move_nodes(struct conf_loader *l, struct conf_network *net,
                          const char *const *placed, struct conf_index *index,
                          struct bitset *taken);
size_t conf_topo_units_most(const struct conf *c, const char *const *placed);
void conf_topo_check_nodes(struct conf_loader *l);
