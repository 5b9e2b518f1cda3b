/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One level of the fan-out tree (CORE-225, docs/adr/0017): an RPC_TREE request and the targets
 * that it still has to reach. The list of targets is divided into 'width' parts. The first node of
 * each part, its head, gets the request with the rest of its part, and sends the answers of the
 * part as they arrive. The origin of a request and every inner node use this code.
 *
 * A head that is unreachable or refuses fails only itself (CORE-229): the targets below it are
 * divided anew. When a head breaks the connection after it has received the list, its unanswered
 * targets may already have the request, which uses up their tokens. Their answer is ERR_REPLAY,
 * and the origin, which alone can obtain new tokens, asks them again. A head that sends nothing
 * for too long loses its part, but its own answer is still awaited.
 */
#pragma once

#include "auth/auth.h"
#include "loop/loop.h"
#include "proto/tree.pb-c.h"
#include "rpc/frame.h"
#include "rpc/seal.h"

#define RPC_TREE_WIDTH_MIN 2
#define RPC_TREE_WIDTH_MAX 65533
#define RPC_TREE_HEAD_MAX 40000 /* targets per head: their tokens fit in one message */

struct rpc_relay;

struct rpc_relay_target { /* the strings are copied */
    const char *node, *addr;
    uint16_t port;
    uint8_t token[AUTH_TOKEN_SIZE]; /* the target's own token, over the frame */
};

struct rpc_relay_answer {
    size_t index;
    bool prepared; /* the final answer follows; at most once per target */
    int code;      /* 0, or a positive error code with its text */
    const char *text;
    const void *reply; /* packed */
    size_t len;
};

struct rpc_relay_options {
    struct loop *loop;
    struct rpc_header header; /* the header of the RPC_TREE that the tokens cover */
    const void *body;         /* borrowed while the relay exists */
    unsigned width;
    int64_t silence_ms, connect_ms;

    /* Fills in the fields that are derived from a target's token, which is set. */
    void (*fill)(void *ctx, size_t index, struct rpc_minted *minted);
    /* Adds to the part what a head must know about the origin; NULL: this process is the origin.
     * Data that the callback puts into the part is borrowed until the next call. */
    void (*origin)(void *ctx, const uint8_t *token, Pb__TreePart *part);
    /* Never called from within rpc_relay_start(); may free the relay. Called with prepared false
     * once for each target. */
    void (*on_answer)(void *ctx, const struct rpc_relay_answer *answer);
    /* For logs: a head is asked, with 'below' targets below it, or is lost with 'unanswered'
     * targets. May be NULL, and must not free the relay. */
    void (*on_head)(void *ctx, const char *node, size_t below);
    void (*on_lost)(void *ctx, const char *node, size_t below, const char *why);
    void *ctx;
};

struct rpc_relay *rpc_relay_start(const struct rpc_relay_options *options,
                                  const struct rpc_relay_target *targets, size_t count);
/* The nodes below learn that their answers are no longer wanted. */
void rpc_relay_free(struct rpc_relay *r);

/* Tells all targets that have prepared, or will prepare, to execute the request. */
void rpc_relay_commit(struct rpc_relay *r);
