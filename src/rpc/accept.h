/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns an accepted connection into a session. Private to src/rpc. */
#pragma once

#include "rpc/conn.h"
#include "rpc/session.h"

struct rpc_accept {
    struct rpc_io *io;
    struct rpc_conn *conn;      /* owned by the session after success */
    const struct auth_key *key; /* copied */
    const char *my_name;        /* copied */
    const char *peer;           /* address, copied */
    bool is_local;              /* the connection is a UNIX socket */
    unsigned accepts;           /* RPC_WHO_NODE or RPC_WHO_KEY */
    /* The peer has proved that it knows the key. */
    void (*opened)(void *ctx, struct rpc_session *s, const char *name);
    void (*refused)(void *ctx, const char *why); /* the handshake failed */
    void (*released)(void *ctx);                 /* the session and its connection are freed */
    void *ctx;
};

/* Checks whether this frame can begin a session. Called before the frame's body is read. */
int rpc_session_check_hello(const struct rpc_header *h, struct err *err);

/* Answers the first frame of a handshake. On failure the caller still owns the connection. The
 * server passes *out to rpc_session_free() when it shuts down; *out is invalid after released(). */
int rpc_session_accept(const struct rpc_accept *a, const struct rpc_frame *hello,
                       struct rpc_session **out, struct err *err);
