/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replies to calls, by the number of the call, which is unique within this process: at once or
 * later, whole or in parts. Also requests inside another request, and calls that have joined a call
 * with the same request. Implemented in reply.c.
 */
#pragma once

#include "rpc/server.h"

/* False: the call was answered, or its caller is gone. */
bool rpc_call_is_open(struct rpc_server *s, uint64_t call);

/* A request inside another request. It is handled as if its caller had sent it on a separate
 * connection; on_request() is called before this function returns. Its reply goes to answered(),
 * whichever function replies, unless the outer call has ended before. */
struct rpc_inner {
    uint64_t outer; /* the unanswered call that contains this request */
    unsigned rpc;
    const void *body;
    size_t len;
    struct auth_identity who; /* as proved by the outer request */
    unsigned roles;
    const char *peer;
    bool prepare;
    void (*prepared)(void *ctx); /* NULL if the request is executed at once */
    /* code 0: 'answer' is the packed reply; otherwise the text of the error. */
    void (*answered)(void *ctx, int code, const void *answer, size_t len);
    void *ctx;
};
/* Returns the number of the inner call; 0: the request has already been answered. */
uint64_t rpc_call_inner(struct rpc_server *s, const struct rpc_inner *inner);
/* The answer is no longer wanted: on_gone() is called, answered() is not. Valid while the outer
 * call is open, or from its own on_gone(); no effect on a finished call. */
void rpc_call_inner_drop(struct rpc_server *s, uint64_t call);
void rpc_prepared(struct rpc_server *s, uint64_t call);

/* Joins call 'other' to call 'first', which has the same request and may have ended. The other
 * call then gets each rpc_reply(), rpc_reply_error() and rpc_prepared() of the first. */
void rpc_call_join(struct rpc_server *s, uint64_t first, uint64_t other);
bool rpc_call_is_joined(struct rpc_server *s, uint64_t first, uint64_t other);
/* The first call is no longer wanted. Returns one of the joined calls, which takes its place; 0:
   there is none. */
uint64_t rpc_call_heir(struct rpc_server *s, uint64_t first);

void rpc_reply(struct rpc_server *s, uint64_t call, const ProtobufCMessage *reply);
void rpc_reply_error(struct rpc_server *s, uint64_t call, int code, const char *text);

/* Sends a packed reply, or with 'more' one part of a reply. rpc_backlog() returns the number of
   bytes that wait to be sent. */
void rpc_reply_bytes(struct rpc_server *s, uint64_t call, const void *data, size_t len, bool more);
size_t rpc_backlog(struct rpc_server *s, uint64_t call);

/* Fails every open call. */
void rpc_server_fail_calls(struct rpc_server *s, int code, const char *text);
