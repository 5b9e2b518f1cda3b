/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update NodeName= Topology=: the places of nodes in the networks. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* Sets the topology of the nodes in the set; "": in no network. -ERR_PARSE: the nodes cannot be in
 * the unit, and nothing is changed. The caller stores the nodes. */
int node_topology_update(struct control *c, const struct bitset *set, const char *topology,
                         struct err *err);
/* Called after the records of the nodes were moved to a cluster of this configuration. */
void node_topology_settle(struct control *c, struct cluster *cluster, struct conf *conf);
/* Called after a reconfiguration from 'old', when c->cluster and c->conf are new. If only nodes
 * have changed (for_node), nodes keep their order in rings. */
void node_topology_carry(struct control *c, const struct conf *old, bool for_node,
                         struct str *report);
/* Sends nodes their present place: the nodes with a place from scontrol or their own line, or all
 * nodes. */
void node_topology_tell(struct control *c, bool all);
