/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asks all controllers in parallel, on the event loop, whether one of them leads. Private to
 * src/rpc. Used by callers whose controller does not answer.
 */
#pragma once

#include "conf/conf.h"
#include "loop/loop.h"
#include "rpc/conn.h"

/* leader NULL: no controller says that it leads; tried then has the answer of each. Called once,
 * never from within rpc_probe_start(). The probe is freed before the call. */
typedef void rpc_probe_fn(void *ctx, const struct conf_host *leader, const char *tried);

struct rpc_probe;
/* Asks every controller but 'except'. conf is borrowed. */
struct rpc_probe *rpc_probe_start(struct rpc_io *io, const struct conf *conf,
                                  const struct conf_host *except, rpc_probe_fn *done, void *ctx);
void rpc_probe_drop(struct rpc_probe *p);
