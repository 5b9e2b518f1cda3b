/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unauthenticated HTTP: probes and metrics. */
#pragma once

#include "slurmctld/core/ctld.h"

void http_answer(void *ctx, const struct rpc_http *request, struct rpc_http_answer *a);
void http_done(struct ctld *c);
