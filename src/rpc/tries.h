/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chooses which of the addresses of a host name is tried next, and for how long. Private to
 * src/rpc. An address that does not answer must not use up the time of the addresses behind it:
 * each address is first tried for a short time, then the addresses that did not answer share the
 * remaining time. A single address gets all of the time. No attempt is longer than
 * rpc_set_connect_timeout(). This module reads no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RPC_TRIES_QUICK_MS 250 /* enough for the round trip of a first packet */

struct rpc_tries {
    /* Number of addresses, at most RPC_NET_ADDRESSES_MAX, and index of the next one. */
    int count, at;
    unsigned silent; /* one bit per address: it did not answer in its first attempt */
    bool again;
    int64_t until_ms, each_ms;
};

void rpc_tries_init(struct rpc_tries *t, int count, int64_t until_ms);
/* Returns the index of the next address and how long to try it; -1: no address is left. */
int rpc_tries_next(struct rpc_tries *t, int64_t now_ms, int64_t *patience_ms);
void rpc_tries_silent(struct rpc_tries *t); /* the address tried last did not answer in time */
