/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames over a connected local stream socket between two processes of one node: node daemon and
 * step shepherd. The peer is authenticated before (an inherited socket pair, or a socket with a
 * checked peer in a directory that only the daemon may enter), so frames carry no token. Received
 * frames are nevertheless bounded and checked. Only RPCs with role LOCAL are accepted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "rpc/frame.h"
#include "rpc/rpc.h"

#define RPC_LINK_BODY_MAX                                                                          \
    (RPC_BODY_MAX + (4u << 20)) /* a launch request wrapped in a start request */

struct rpc_link;

struct rpc_link_events {
    /* h has the message number, its id, and whether it is a reply. body is valid until the
     * callback returns, unless the callback calls rpc_link_keep_body(). */
    void (*on_message)(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                       const ProtobufCMessage *body);
    /* Called once: the peer has closed the socket or violated the protocol. The owner frees the
       link in the callback or later. */
    void (*on_close)(void *ctx, struct rpc_link *l, const struct err *why);
    void *ctx;
};

/* Takes ownership, makes it non-blocking. */
struct rpc_link *rpc_link_new(struct loop *loop, int fd, const struct rpc_link_events *events);
void rpc_link_free(struct rpc_link *l); /* allowed inside callbacks; unsent bytes are lost */

/* Writes as much as the socket accepts and queues the rest. With 'reply' the message answers
 * message 'id'. After on_close the message is dropped. */
void rpc_link_send(struct rpc_link *l, enum rpc_number rpc, bool reply, uint64_t id,
                   const ProtobufCMessage *body);
/* Inside on_message: returns the memory of the message body, which the caller frees. */
struct arena;
struct arena *rpc_link_keep_body(struct rpc_link *l);
void rpc_link_free_body(struct arena **body); /* sets *body to NULL */
/* Stops or resumes reading; input that has already been read is still delivered. */
void rpc_link_pause(struct rpc_link *l, bool pause);
/* Whether the peer has closed the socket; data that the peer sent before may still be unread. */
bool rpc_link_is_hung_up(const struct rpc_link *l);
size_t rpc_link_backlog(const struct rpc_link *l); /* bytes that are not written yet */
