/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the server makes sessions of connections, inside this room. */
#pragma once

#include "rpc/conn.h"
#include "rpc/session.h"

struct rpc_accept {
    struct rpc_io *io;
    struct rpc_conn *conn;      /* the session's from now on */
    const struct auth_key *key; /* copied */
    const char *my_name;        /* copied */
    const char *peer;           /* address, copied */
    bool is_local;              /* of a UNIX socket */
    unsigned accepts;           /* RPC_WHO_NODE or RPC_WHO_KEY */
    void (*opened)(void *ctx, struct rpc_session *s, const char *name); /* proved */
    void (*refused)(void *ctx, const char *why);                        /* before that */
    void (*released)(void *ctx); /* the session is gone, and its connection */
    void *ctx;
};

/* Whether this frame can begin a session: to be asked before its body is read. */
int rpc_session_check_hello(const struct rpc_header *h, struct err *err);

/* Answers the first frame of a handshake. On failure the connection stays the caller's. *out is for
 * rpc_session_free() when the server ends; it is gone when released() is called. */
int rpc_session_accept(const struct rpc_accept *a, const struct rpc_frame *hello,
                       struct rpc_session **out, struct err *err);
