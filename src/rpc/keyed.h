/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One call from a daemon to a daemon at one address, on the event loop. The calling daemon knows
 * the cluster key, so it mints its own token, as the user that it runs as.
 */
#pragma once

#include "auth/auth.h"
#include "loop/loop.h"
#include "rpc/client.h"

struct rpc_keyed_request {
    /* Borrowed; used within rpc_keyed_call() and when the connection is established. */
    const struct auth_key *key;
    const char *addr; /* copied, as is the audience */
    uint16_t port;
    const char *audience; /* "slurmctld" or the node's name */
    enum rpc_number rpc;
    const ProtobufCMessage *request;
    int64_t timeout_ms; /* total time until the reply */
};

/* done() is called once from the loop, never from within rpc_keyed_call() and never after
 * rpc_keyed_drop(). -ERR_CONNECT: no process listens at the address. -ERR_TIMEOUT: the outcome is
 * unknown. */
struct rpc_keyed;
struct rpc_keyed *rpc_keyed_call(struct loop *l, const struct rpc_keyed_request *r,
                                 rpc_done_fn *done, void *ctx);
void rpc_keyed_drop(struct rpc_keyed *k);
