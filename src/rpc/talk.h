/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One request over TCP on its own connection, which stays open: the caller sends further frames of
 * the request, and the reply comes in parts. Private to src/rpc.
 */
#pragma once

#include "rpc/conn.h"
#include "rpc/rpc.h"
#include "rpc/seal.h"

struct rpc_talk;
struct rpc_talk_events {
    /* When 'last' is set, the talk has ended and is already freed. */
    void (*on_answer)(void *ctx, const ProtobufCMessage *answer, bool last);
    /* The other side refused the request, or the connection broke or was closed before the last
       part. The talk is already freed. */
    void (*on_failed)(void *ctx, const struct err *why, bool refused);
    void *ctx;
};

/* Takes ownership of the descriptor. header and body are those that the token was minted for. */
struct rpc_talk *rpc_talk_start(struct rpc_io *io, int fd, const struct rpc_header *header,
                                const struct rpc_minted *minted, const void *body,
                                const struct rpc_talk_events *events);
void rpc_talk_send(struct rpc_talk *t, enum rpc_number rpc, const ProtobufCMessage *more);
void rpc_talk_drop(struct rpc_talk *t); /* allowed in every callback; no further callbacks */
