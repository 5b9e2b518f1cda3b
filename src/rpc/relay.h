/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One level of the fan-out tree (CORE-225, docs/adr/0017): a request of RPC_TREE and those that it
 * is still to reach. The list is divided in 'width' parts; the first node of each, its head, gets
 * the request with the rest of the part, and answers for all of them as answers come. The origin of
 * a request and every node that has others below it do this alike.
 *
 * A head that cannot be reached or refuses costs its own answer (CORE-229): those below it are
 * divided anew. Of one that breaks off with the list in its hands, those who have not answered may
 * have the request, with which their token is used up: their answer is ERR_REPLAY, and the origin,
 * which alone can have other tokens made, asks them again. One that is silent for too long is a
 * head no more, but its own answer is waited for.
 */
#pragma once

#include "auth/auth.h"
#include "loop/loop.h"
#include "proto/tree.pb-c.h"
#include "rpc/frame.h"
#include "rpc/seal.h"

#define RPC_TREE_WIDTH_MIN 2
#define RPC_TREE_WIDTH_MAX 65533
#define RPC_TREE_HEAD_MAX 40000 /* targets of one head: their tokens fit in a message */

struct rpc_relay;

struct rpc_relay_target { /* texts are copied */
    const char *node, *addr;
    uint16_t port;
    uint8_t token[AUTH_TOKEN_SIZE]; /* its own, over the frame */
};

struct rpc_relay_answer {
    size_t index;
    bool prepared; /* the answer proper is still to come; once at most for each target */
    int code;      /* 0, or a positive code of an error, whose text it is */
    const char *text;
    const void *reply; /* packed */
    size_t len;
};

struct rpc_relay_options {
    struct loop *loop;
    struct rpc_header header; /* of the RPC_TREE that the tokens are over */
    const void *body;         /* borrowed while the relay is there */
    unsigned width;
    int64_t silence_ms, connect_ms;

    /* What belongs to a target's token, which is in it. */
    void (*fill)(void *ctx, size_t index, struct rpc_minted *minted);
    /* What a head is to know of the origin; NULL: we are the origin. What it puts into the part is
     * borrowed until the next call. */
    void (*origin)(void *ctx, const uint8_t *token, Pb__TreePart *part);
    /* Never from within rpc_relay_start(). The relay may be freed in it. Once for each target with
     * prepared false. */
    void (*on_answer)(void *ctx, const struct rpc_relay_answer *answer);
    /* For logs: one is asked, with so many below it; it is lost with so many unanswered. May be
     * NULL, and may not free the relay. */
    void (*on_head)(void *ctx, const char *node, size_t below);
    void (*on_lost)(void *ctx, const char *node, size_t below, const char *why);
    void *ctx;
};

struct rpc_relay *rpc_relay_start(const struct rpc_relay_options *options,
                                  const struct rpc_relay_target *targets, size_t count);
void rpc_relay_free(struct rpc_relay *r); /* those below learn that nobody wants their answers */

/* All who have prepared, and whoever is still to, are to do it. */
void rpc_relay_commit(struct rpc_relay *r);
