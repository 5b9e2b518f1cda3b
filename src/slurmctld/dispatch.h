/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dispatches authorised requests to their handlers. */
#pragma once

#include "slurmctld/core/ctld.h"

/* After each turn: starts an announced shutdown that is due. */
void dispatch_announced(struct ctld *c);
void dispatch_request(void *ctx, const struct rpc_request *request);
