/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dynamic nodes, which are in no configuration file. */
#pragma once

#include "slurmctld/core/ctld.h"

void node_dynamic_request(struct ctld *c, uint64_t call, const struct caller *who,
                          const Pb__NodeUpdate *r);
bool node_dynamic_accept(struct ctld *c, struct rpc_session *s,
                         const char *name); /* false: no space */
/* Before control/ exists: adds the stored dynamic nodes to the configuration. */
int node_dynamic_load(struct ctld *c, struct conf **conf, struct err *err);
void node_dynamic_done(struct ctld *c);
