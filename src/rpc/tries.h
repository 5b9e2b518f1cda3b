/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of the addresses that a name has is tried next, and for how long; inside this room. One
 * that does not answer must not take the time of those behind it: each is tried for a moment first,
 * then those that were silent share what is left. An address alone has all of the time. None is
 * tried for longer than rpc_set_connect_timeout() says. Knows no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RPC_TRIES_QUICK_MS 250 /* enough for a first packet there and back */

struct rpc_tries {
    int count, at;   /* of the addresses, RPC_NET_ADDRESSES_MAX at most */
    unsigned silent; /* by address, a bit: it said nothing when it was tried first */
    bool again;
    int64_t until_ms, each_ms;
};

void rpc_tries_init(struct rpc_tries *t, int count, int64_t until_ms);
/* Its place, and for how long it is tried; -1: there is none any more. */
int rpc_tries_next(struct rpc_tries *t, int64_t now_ms, int64_t *patience_ms);
void rpc_tries_silent(struct rpc_tries *t); /* that one has not said anything in its time */
