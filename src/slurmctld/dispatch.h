/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dispatches authorised requests to their handlers, and sends listings in slices.
 */
#pragma once

#include "slurmctld/core/ctld.h"

/* After each turn: starts an announced shutdown that is due. */
void dispatch_announced(struct ctld *c);
void dispatch_request(void *ctx, const struct rpc_request *request);

void dispatch_continue_listing(void *ctx,
                               uint64_t call); /* a slice was sent; other calls are ignored */
void dispatch_drop_listing(struct ctld *c, uint64_t call);
void dispatch_drop_listings(struct ctld *c);
