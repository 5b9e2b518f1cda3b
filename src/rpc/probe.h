/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asks controllers on the loop whether one of them leads, all at a time; inside this room. What a
 * caller of a controller that has fallen silent does.
 */
#pragma once

#include "conf/conf.h"
#include "loop/loop.h"
#include "rpc/conn.h"

/* leader NULL: none says that it leads; tried then tells what each has said. Called once, never
 * from within rpc_probe_start(); the probe is gone when it is called. */
typedef void rpc_probe_fn(void *ctx, const struct conf_host *leader, const char *tried);

struct rpc_probe;
/* Every controller but 'except'. conf is borrowed. */
struct rpc_probe *rpc_probe_start(struct rpc_io *io, const struct conf *conf,
                                  const struct conf_host *except, rpc_probe_fn *done, void *ctx);
void rpc_probe_drop(struct rpc_probe *p);
