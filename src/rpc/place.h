/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the controllers of a cluster can be reached from here, in the order of trying, and how long
 * one of them is waited for, also when it asks for patience (ERR_BACKOFF); inside this room.
 *
 * Local sockets come first: there the kernel names the caller and no token is needed. Then the
 * addresses, each once (with SlurmctldAddr there is one).
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

/* The caller frees; it borrows from conf. */
struct rpc_place *rpc_place_list(const struct conf *conf, size_t *count);
/* "host:6817" or the path of the socket. */
void rpc_place_text(const struct conf *conf, const struct rpc_place *p,
                    char text[RPC_PLACE_TEXT_MAX]);

/* -ERR_CLOSED: by the controller at "host:6817", whichever way it was asked. */
int rpc_place_closed(const struct conf *conf, const struct rpc_place *p, struct err *err);

/* A controller that does not answer may have been replaced: after so long the others are asked
 * whether one of them leads, and again after twice the time. It costs a slow controller nothing:
 * its answer is taken the moment that it comes. */
#define RPC_PLACE_HEDGE_MS 250
#define RPC_PLACE_HEDGE_MAX_MS 60000
#define RPC_PLACE_PROBE_MS 1000 /* for the answer of each of them */
/* Between two rounds through all places, while one of them waits to take over; doubled. */
#define RPC_PLACE_PAUSE_MIN_MS 50
#define RPC_PLACE_PAUSE_MAX_MS 200

/* Whether the next place is worth trying after this failure of a request; *again (stays as it is
 * otherwise): this one may do better in a moment. What another controller must not repeat, since
 * this one may have done it, is the caller's to decide about. */
bool rpc_place_is_passing(const struct conf *conf, const struct rpc_info *rpc, int code,
                          bool *again);

/* How long to try to connect to one of 'left' out of 'count' places, of the remaining time, in the
 * n-th round (from 0): a place alone has all of it; of several all are tried once quickly, and what
 * is left then is shared. */
int64_t rpc_place_patience(int64_t remaining_ms, size_t left, size_t count, unsigned round);

struct rpc_patience {
    unsigned times; /* it was asked for */
};

/* Tells who wants to know, and how long to wait: longer each time, up to 2 s, and not as long as
 * others who were told the same at the same time. */
int64_t rpc_patience_next(struct rpc_patience *p, const char *why);
