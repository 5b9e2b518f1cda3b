/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connecting on the event loop. Private to src/rpc. Host names are resolved, each address is tried
 * in turn, and the reasons of the failures are collected. A target has a time limit that starts
 * when its addresses are known; several addresses share that time (rpc/tries.h).
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"
#include "rpc/net.h"
#include "rpc/session.h"

/* fd >= 0: connected; the callback owns fd and target is its index. Otherwise err is -ERR_CONNECT,
 * or -ERR_TIMEOUT if a target did not answer at all, with "HOST:PORT: why" of each target, joined
 * by "; ". Called once, and never from within rpc_dial_start(). The dial is freed before the call.
 */
typedef void rpc_dial_fn(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                         const struct err *err);

struct rpc_dial;
struct rpc_dial *rpc_dial_start(struct loop *l, const struct rpc_target *targets, size_t count,
                                int64_t each_ms, rpc_dial_fn *done, void *ctx);
void rpc_dial_drop(struct rpc_dial *d); /* done() will not be called */
