/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of the process for sdiag: requests by RPC and by user, with their run times. */
#pragma once

#include <stdint.h>

#include "proto/ctl.pb-c.h"
#include "rpc/rpc.h"

struct ctld;
struct diag;
struct rpc_request;

/* Users with their own counters; requests of further users are not counted. */
#define DIAG_USERS 10000

struct diag *diag_new(void); /* measures the cost of the clock once */
void diag_free(struct diag *d);
void diag_reset(struct diag *d);

/* Microseconds, for statistics; the implementation of env.work_usec. */
int64_t diag_clock(void *ctx);
/* A request was handled; its reply may still wait for a commit. */
void diag_count(struct diag *d, const struct rpc_info *rpc, uint32_t uid, int64_t begun_usec);

void diag_fill_stats(const struct ctld *c, Pb__CtlStats *stats);
void diag_answer(struct ctld *c, const struct rpc_request *r);
