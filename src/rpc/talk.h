/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One request over TCP on a connection of its own that goes on: its caller sends more of it, its
 * answer comes in parts. Inside this room.
 */
#pragma once

#include "rpc/conn.h"
#include "rpc/rpc.h"
#include "rpc/seal.h"

struct rpc_talk;
struct rpc_talk_events {
    /* The talk is over, and gone, when it was the last. */
    void (*on_answer)(void *ctx, const ProtobufCMessage *answer, bool last);
    /* Refused by the other side, or broken or closed before the last answer; the talk is gone. */
    void (*on_failed)(void *ctx, const struct err *why, bool refused);
    void *ctx;
};

/* Takes the descriptor. header and body are what the token was made for. */
struct rpc_talk *rpc_talk_start(struct rpc_io *io, int fd, const struct rpc_header *header,
                                const struct rpc_minted *minted, const void *body,
                                const struct rpc_talk_events *events);
void rpc_talk_send(struct rpc_talk *t, enum rpc_number rpc, const ProtobufCMessage *more);
void rpc_talk_drop(struct rpc_talk *t); /* from any callback; nobody is called any more */
