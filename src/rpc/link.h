/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames over a connected local stream socket between two processes of one node: node daemon and
 * step shepherd. Who may be at the other end is settled before (an inherited pair, or a socket in a
 * directory only the daemon may enter, with its peer checked), so frames carry no token; what comes
 * is nevertheless bounded and checked. Only RPCs of the table that are LOCAL and nothing else pass.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "rpc/frame.h"
#include "rpc/rpc.h"

#define RPC_LINK_BODY_MAX                                                                          \
    (RPC_BODY_MAX + (4u << 20)) /* a launch as received, wrapped in a start                        \
                                 */

struct rpc_link;

struct rpc_link_events {
    /* h says which message it is, its id, and whether it is a reply; body lives until the return,
     * unless rpc_link_keep_body() is called before. */
    void (*on_message)(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                       const ProtobufCMessage *body);
    /* Once: the other end has gone or broken the rules. Free the link then or later. */
    void (*on_close)(void *ctx, struct rpc_link *l, const struct err *why);
    void *ctx;
};

struct rpc_link *rpc_link_new(struct loop *loop, int fd, /* taken over, made non-blocking */
                              const struct rpc_link_events *events);
void rpc_link_free(struct rpc_link *l); /* also from inside its callbacks; unsent bytes are lost */

/* Written at once as far as the socket takes it. With 'reply' it answers message 'id'. After the
 * close it is dropped. */
void rpc_link_send(struct rpc_link *l, enum rpc_number rpc, bool reply, uint64_t id,
                   const ProtobufCMessage *body);
/* From inside on_message: the memory of its body, which the caller frees. */
struct arena;
struct arena *rpc_link_keep_body(struct rpc_link *l);
void rpc_link_free_body(struct arena **body); /* NULL afterwards */
/* Whether what the other end sends is taken; what has arrived already is still handed on. */
void rpc_link_pause(struct rpc_link *l, bool pause);
/* Whether the other end has closed it; what it sent before may be unread. */
bool rpc_link_is_hung_up(const struct rpc_link *l);
size_t rpc_link_backlog(const struct rpc_link *l); /* bytes not yet written */
