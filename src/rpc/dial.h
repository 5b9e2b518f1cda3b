/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connecting on the loop, inside this room: names to addresses, each tried in turn, the reasons of
 * the failures collected. Each target has so much time from when its addresses are known, of which
 * each of several addresses has its share (rpc/tries.h).
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"
#include "rpc/net.h"
#include "rpc/session.h"

/* fd >= 0: connected, the callee's from now on; target is its index. Else err: -ERR_CONNECT, or
 * -ERR_TIMEOUT when one of them did not say anything, with "HOST:PORT: why" of each, joined by ";
 * ". Called once, never from within rpc_dial_start(); the dial is gone when it is called. */
typedef void rpc_dial_fn(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                         const struct err *err);

struct rpc_dial;
struct rpc_dial *rpc_dial_start(struct loop *l, const struct rpc_target *targets, size_t count,
                                int64_t each_ms, rpc_dial_fn *done, void *ctx);
void rpc_dial_drop(struct rpc_dial *d); /* done() will not be called */
