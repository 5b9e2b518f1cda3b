/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sessions of node daemons, and of nodes that fetch the configuration.
 */
#pragma once

#include "slurmctld/core/ctld.h"

void nodes_accept(void *ctx, struct rpc_session *s, const char *name);
/* Tells a node that is not in the configuration to end its jobs, then closes its session. */
void nodes_dismiss(struct ctld *c, struct rpc_session *s, const char *name,
                   const Pb__NodeRegister *r);
uint64_t nodes_session(struct ctld *c, const char *node);         /* 0: none */
struct rpc_session *nodes_find(struct ctld *c, uint64_t session); /* NULL: it has ended */
const char *nodes_name(struct ctld *c, uint64_t session);         /* name of its node, or NULL */
void nodes_close(struct ctld *c, const char *node);               /* closes its session at once */
/* Closes sessions of nodes that are no longer configured. */
void nodes_close_unknown(struct ctld *c, const struct conf *conf);
/* Sends what is queued, then closes. */
void nodes_finish(struct ctld *c);
/* The server closes the sessions. */
void nodes_forget(struct ctld *c);
