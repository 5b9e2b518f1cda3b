/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that wait for the name service. */
#pragma once

#include "slurmctld/core/ctld.h"

bool unnamed_needs(const struct ctld *c, unsigned rpc); /* the caller's name */
/* Whether it is kept, and dispatched again later, or refused: too many of its user wait. */
bool unnamed_keep(struct ctld *c, const struct rpc_request *request);
void unnamed_continue(void *ctx); /* names have come */
void unnamed_drop(struct ctld *c, uint64_t call);
void unnamed_drop_all(struct ctld *c);
