/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One request to many node daemons, through some of them (CORE-225..229, docs/adr/0017). The
 * contract is that of rpc_fanout_start(): every target is answered exactly once, and what it
 * answers is what it would have answered directly. Up to TreeWidth targets are asked directly; of
 * more than that, TreeWidth get the request to pass on.
 *
 * Every node gets a token of its own and does the request for its caller; a node in between adds
 * and decides nothing. It connects to addresses only that the controller has signed: the request
 * has a job credential in its fields 'cred' and 'signature' which names all targets, or one is
 * given beside it.
 *
 * What goes down the tree is idempotent: when a node in between breaks off, those below it may get
 * the request twice.
 */
#pragma once

#include "rpc/client.h"

struct rpc_tree;

/* Whether the nodes do it at once, or all of them or none (CORE-227): they prepare, say so, and do
 * it when all have. When one cannot, its own error is its answer, and -ERR_NOT_BEGUN that of every
 * other one. After the decision each answers for itself. */
enum rpc_tree_commit {
    RPC_TREE_AT_ONCE,
    RPC_TREE_TOGETHER, /* decided here */
};

struct rpc_tree_request {
    enum rpc_number rpc;
    const ProtobufCMessage *message;
    bool has_cred;                /* the message has one in its fields 'cred' and 'signature' */
    const void *cred, *signature; /* when the message has none; else NULL */
    size_t cred_len, signature_len;
    enum rpc_tree_commit commit; /* only where the handler of the request heeds 'prepare' */
    unsigned width;              /* 0: TreeWidth */
    int64_t timeout_ms;          /* for all; 0: MessageTimeout; or RPC_WAIT_FOREVER */
    /* For a person who asks for detail: who passes it on to how many, who was lost. May be NULL. */
    void (*tell)(void *ctx, const char *text);
    /* Once, after MessageTimeout without a decision: "n3, n7 and 4 more". May be NULL. */
    void (*waits)(void *ctx, const char *nodes);
    /* Of several trees that are one: all nodes of this one have prepared, and rpc_tree_commit() or
     * rpc_tree_abandon() decides. NULL: the tree decides for itself. With RPC_TREE_TOGETHER only.
     */
    void (*prepared)(void *ctx);
};

/* The request is packed, conf is borrowed, until the tree is freed: in done(), or after the last.
 */
struct rpc_tree *rpc_tree_start(struct loop *l, const struct conf *conf,
                                const struct rpc_node_target *targets, size_t count,
                                const struct rpc_tree_request *request, rpc_node_done_fn *done,
                                void *ctx);
void rpc_tree_free(struct rpc_tree *t);

/* After prepared(): the nodes do it. */
void rpc_tree_commit(struct rpc_tree *t);
/* They do not, whatever they have prepared: -ERR_NOT_BEGUN is the answer of each that has not
 * answered. Nothing once it is decided. */
void rpc_tree_abandon(struct rpc_tree *t, const char *node, const char *why);
