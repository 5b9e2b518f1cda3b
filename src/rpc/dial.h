/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connecting on the event loop. Private to src/rpc. Host names are resolved, each address is tried
 * in turn, and the reasons of the failures are collected. A target has a time limit that starts
 * when its addresses are known; several addresses share that time.
 *
 * rpc_tries chooses which of the addresses is tried next, and for how long: an address that does
 * not answer must not use up the time of the addresses behind it. Each address is first tried for a
 * short time, then the addresses that did not answer share the remaining time. A single address
 * gets all of the time. No attempt is longer than rpc_set_connect_timeout(). rpc_tries reads no
 * clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "rpc/net.h"
#include "rpc/session.h"

struct rpc_dial;

/* fd >= 0: connected; the callback owns fd and target is its index. Otherwise err is -ERR_CONNECT,
 * or -ERR_TIMEOUT if a target did not answer at all, with "HOST:PORT: why" of each target, joined
 * by "; ". Called once, and never from within rpc_dial_start(). The dial is freed before the call.
 */
typedef void rpc_dial_fn(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                         const struct err *err);

struct rpc_dial *rpc_dial_start(struct loop *l, const struct rpc_target *targets, size_t count,
                                int64_t each_ms, rpc_dial_fn *done, void *ctx);
void rpc_dial_drop(struct rpc_dial *d); /* done() will not be called */

#define RPC_TRIES_QUICK_MS 250 /* enough for the round trip of a first packet */

struct rpc_tries {
    /* Number of addresses, at most RPC_NET_ADDRESSES_MAX, and index of the next one. */
    int count, at;
    unsigned unanswered; /* one bit per address: it did not answer in its first attempt */
    bool is_second_round;
    int64_t until_ms, each_ms;
};

void rpc_tries_init(struct rpc_tries *t, int count, int64_t until_ms);
/* Returns the index of the next address and how long to try it; -1: no address is left. */
int rpc_tries_next(struct rpc_tries *t, int64_t now_ms, int64_t *patience_ms);
void rpc_tries_note_timeout(
    struct rpc_tries *t); /* the address tried last did not answer in time */
