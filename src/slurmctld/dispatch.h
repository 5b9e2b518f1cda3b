/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which function answers a request that passed the table's check of rights. */
#pragma once

#include "slurmctld/core/ctld.h"

void dispatch_announced(struct ctld *c); /* after a turn: an announced shutdown that is due */
void dispatch_request(void *ctx, const struct rpc_request *request);
