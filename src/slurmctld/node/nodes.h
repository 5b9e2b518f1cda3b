/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kept sessions of node daemons. */
#pragma once

#include "slurmctld/core/ctld.h"

void nodes_accept(void *ctx, struct rpc_session *s, const char *name);
/* A node that is not in the configuration: it is told to end its jobs, then its session is closed.
 */
void nodes_dismiss(struct ctld *c, struct rpc_session *s, const char *name,
                   const Pb__NodeRegister *r);
uint64_t nodes_session(struct ctld *c, const char *node);          /* 0: none */
struct rpc_session *nodes_find(struct ctld *c, uint64_t session);  /* NULL: it has ended */
const char *nodes_name(struct ctld *c, uint64_t session);          /* of its node, or NULL */
void nodes_close(struct ctld *c, const char *node);                /* at once */
void nodes_close_unknown(struct ctld *c, const struct conf *conf); /* not in it any more */
void nodes_finish(struct ctld *c);                                 /* send what is queued, close */
void nodes_forget(struct ctld *c);                                 /* the server closes them */
