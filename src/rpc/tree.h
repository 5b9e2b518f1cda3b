/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends one request to many node daemons through a tree of nodes (CORE-225..229, docs/adr/0017).
 * The contract is that of rpc_fanout_start(): every target is answered exactly once, with the
 * answer that it would have given directly. Up to TreeWidth targets are asked directly; with more
 * targets, TreeWidth of them get the request and pass it on.
 *
 * Every node gets its own token and executes the request for its caller; an inner node adds and
 * decides nothing. An inner node connects only to addresses signed by the controller: the request
 * has a job credential in its fields 'cred' and 'signature' which names all targets, or a
 * credential is passed beside the request.
 *
 * Requests sent through the tree are idempotent: when an inner node breaks off, the nodes below it
 * may get the request twice.
 */
#pragma once

#include "rpc/client.h"

struct rpc_tree;

/* Whether each node executes the request at once, or all nodes or none do (CORE-227). In the
 * second case nodes prepare, report that, and execute the request when all have prepared. If one
 * cannot, its own error is its answer, and -ERR_NOT_BEGUN is the answer of every other node. After
 * the decision each node answers for itself. */
enum rpc_tree_commit {
    RPC_TREE_AT_ONCE,
    RPC_TREE_TOGETHER, /* this node decides */
};

struct rpc_tree_request {
    enum rpc_number rpc;
    const ProtobufCMessage *message;
    /* The message has a credential in its fields 'cred' and 'signature'. */
    bool has_cred;
    const void *cred, *signature; /* the credential, if the message has none; else NULL */
    size_t cred_len, signature_len;
    enum rpc_tree_commit commit; /* only for requests whose handler supports 'prepare' */
    unsigned width;              /* 0: TreeWidth */
    int64_t timeout_ms;          /* for all targets; 0: MessageTimeout; or RPC_WAIT_FOREVER */
    /* Verbose output: which node passes the request on to how many nodes, and which node was lost.
       May be NULL. */
    void (*tell)(void *ctx, const char *text);
    /* Called once if there is no decision after MessageTimeout: "n3, n7 and 4 more". May be
       NULL. */
    void (*waits)(void *ctx, const char *nodes);
    /* For several trees that commit together: all nodes of this tree have prepared, and
       rpc_tree_commit() or rpc_tree_abandon() decides. NULL: the tree decides by itself. With
       RPC_TREE_TOGETHER only. */
    void (*prepared)(void *ctx);
};

/* Request and conf are borrowed until the tree is freed. The tree may be freed in done(), or after
   the last done(). */
struct rpc_tree *rpc_tree_start(struct loop *l, const struct conf *conf,
                                const struct rpc_node_target *targets, size_t count,
                                const struct rpc_tree_request *request, rpc_node_done_fn *done,
                                void *ctx);
void rpc_tree_free(struct rpc_tree *t);

/* After prepared(): all nodes execute the request. */
void rpc_tree_commit(struct rpc_tree *t);
/* The nodes do not execute the request, whether prepared or not. Nodes without an answer get
 * -ERR_NOT_BEGUN. No effect after the decision. */
void rpc_tree_abandon(struct rpc_tree *t, const char *node, const char *why);
