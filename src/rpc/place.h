/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of addresses and sockets at which the controllers of a cluster can be reached from this
 * host, in the order in which they are tried, and the time to wait for one of them, also after
 * ERR_BACKOFF. Private to src/rpc.
 *
 * Local sockets come first, because the kernel identifies the caller and no token is needed. Then
 * each address follows once (with SlurmctldAddr there is only one).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "rpc/rpc.h"

#define RPC_PLACE_TEXT_MAX 320

struct rpc_place {
    const struct conf_host *host;
    bool local;
};

/* The caller frees the list, which borrows from conf. */
struct rpc_place *rpc_place_list(const struct conf *conf, size_t *count);
/* "host:6817" or the path of the socket. */
void rpc_place_text(const struct conf *conf, const struct rpc_place *p,
                    char text[RPC_PLACE_TEXT_MAX]);

/* Fills err with -ERR_CLOSED by the controller at "host:6817", whether it was asked by socket or
   by TCP. */
int rpc_place_closed(const struct conf *conf, const struct rpc_place *p, struct err *err);

/* A controller that does not answer may have been replaced. After this time the client asks the
 * other controllers whether one of them leads, and again after twice the time. A slow controller
 * loses nothing: its reply is accepted as soon as it arrives. */
#define RPC_PLACE_HEDGE_MS 250
#define RPC_PLACE_HEDGE_MAX_MS 60000
#define RPC_PLACE_PROBE_MS 1000 /* time limit for the answer of each probed controller */
/* Pause between two rounds through all places while one of them waits to take over; doubled each
   round. */
#define RPC_PLACE_PAUSE_MIN_MS 50
#define RPC_PLACE_PAUSE_MAX_MS 200

/* Whether the next place should be tried after this failure of a request. *again is set to true if
 * this place may succeed shortly, and is otherwise unchanged. The caller decides about requests
 * that another controller must not repeat because this one may have executed them. */
bool rpc_place_is_passing(const struct conf *conf, const struct rpc_info *rpc, int code,
                          bool *again);

/* Returns how long to try to connect to one place, with 'left' of 'count' places remaining, in
 * round 'round' (from 0). A single place gets all of the remaining time. Of several places, each
 * is tried once for a short time; then they share the rest. */
int64_t rpc_place_patience(int64_t remaining_ms, size_t left, size_t count, unsigned round);

struct rpc_patience {
    unsigned times; /* number of ERR_BACKOFF replies so far */
};

/* Reports the reason to the rpc_backoff_fn and returns the time to wait: longer each time, up to 2
 * s, with a random part that separates callers that were refused at the same time. */
int64_t rpc_patience_next(struct rpc_patience *p, const char *why);
