/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update NodeName= Topology=: where nodes are in the networks. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* topology: what the nodes of the set get, "": they are in no network. -ERR_PARSE: a unit that they
 * cannot be on; nothing has changed then. The caller stores the nodes. */
int node_topology_update(struct control *c, const struct bitset *set, const char *topology,
                         struct err *err);
/* After the records of the nodes were taken into a cluster of this configuration. */
void node_topology_settle(struct control *c, struct cluster *cluster, struct conf *conf);
/* After a reconfiguration from 'old', when c->cluster and c->conf are the new ones. Where only the
 * nodes have changed (for_node), nodes keep their order in rings. */
void node_topology_carry(struct control *c, const struct conf *old, bool for_node,
                         struct str *report);
/* Nodes are told where they are now: those whose units scontrol or their lines name, or all. */
void node_topology_tell(struct control *c, bool all);
