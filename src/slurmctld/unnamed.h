/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that wait for the name service. */
#pragma once

#include "slurmctld/core/ctld.h"

/* Whether the handler needs the caller's name. */
bool unnamed_needs(const struct ctld *c, const struct rpc_request *request);
/* Keeps the request, to be dispatched again later, or refuses it if too many of its user wait.
   Returns whether it did either. */
bool unnamed_keep(struct ctld *c, const struct rpc_request *request);
void unnamed_continue(void *ctx); /* names were looked up */
void unnamed_drop(struct ctld *c, uint64_t call);
void unnamed_drop_all(struct ctld *c);
