/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One call of a daemon to another daemon at one address, on the loop. A daemon knows the cluster
 * key, so it makes its own token, in the name of the user it runs as.
 */
#pragma once

#include "auth/auth.h"
#include "loop/loop.h"
#include "rpc/client.h"

struct rpc_keyed_request {
    const struct auth_key *key; /* used within rpc_keyed_call() and on connecting: borrowed */
    const char *addr;           /* copied, like the audience */
    uint16_t port;
    const char *audience; /* "slurmctld" or the node's name */
    enum rpc_number rpc;
    const ProtobufCMessage *request;
    int64_t timeout_ms; /* from now to the answer */
};

/* done() once, from the loop, never from within rpc_keyed_call(), never after rpc_keyed_drop().
 * -ERR_CONNECT: nobody listens there; -ERR_TIMEOUT: nothing is known. */
struct rpc_keyed;
struct rpc_keyed *rpc_keyed_call(struct loop *l, const struct rpc_keyed_request *r,
                                 rpc_done_fn *done, void *ctx);
void rpc_keyed_drop(struct rpc_keyed *k);
