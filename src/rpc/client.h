/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The calling side. Commands make one blocking call each: over the controller's local socket where
 * there is one (the kernel tells who calls), else over TCP with a token that the local node daemon
 * mints. No crypto beyond one hash, no loop. srun and salloc make several calls at a time on a
 * loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/auth.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

struct rpc_client; /* to the controllers of one cluster; keeps one connection open between calls */

/* False with SLUICE_NO_LOCAL_SOCKET=1 in the environment: requests to the controller and to nodes
 * go over TCP even where their local socket is (tests and the bench compare the two ways). Tokens
 * still come from the local daemon. */
bool rpc_local_socket_wanted(void);

/* A controller may ask for patience (ERR_BACKOFF: too many requests of this user): the request is
 * then sent again after a pause, for as long as it takes unless the caller gave a time limit. fn
 * (NULL: nobody) is told each time. For the process as a whole. */
typedef void rpc_backoff_fn(const char *why);
void rpc_on_backoff(rpc_backoff_fn *fn);

struct rpc_client *rpc_client_new(const struct conf *conf); /* conf is borrowed */
void rpc_client_free(struct rpc_client *c);

/* timeout_ms: waiting without limit, for calls that are answered when something happens. */
#define RPC_WAIT_FOREVER (-1)

/* One call. timeout_ms 0: MessageTimeout. On success *reply is in the arena. On failure err has the
 * controller's code and text, or ERR_CONNECT with every host:port tried and the reason of each.
 * Controllers are tried in order. */
int rpc_call(struct rpc_client *c, enum rpc_number rpc, const ProtobufCMessage *request,
             int64_t timeout_ms, struct arena *arena, void *reply,
             struct err *err); /* reply: pointer to a message pointer */

/* A streamed call: part() gets each part as it comes, unpacked in an arena that lives until part()
 * returns; a non-zero return stops. */
typedef int rpc_part_fn(void *ctx, const ProtobufCMessage *part, struct err *err);
int rpc_call_stream(struct rpc_client *c, enum rpc_number rpc, const ProtobufCMessage *request,
                    rpc_part_fn *part, void *ctx, struct err *err);
/* The same with parts that live in the caller's arena, whose own budget is not looked at. */
int rpc_call_stream_kept(struct rpc_client *c, enum rpc_number rpc, const ProtobufCMessage *request,
                         struct arena *arena, rpc_part_fn *part, void *ctx, struct err *err);

/* Names of the nodes that have a daemon on this host, as its sockets say, sorted; a daemon that was
 * killed may have left one. */
struct rpc_names {
    VEC(char *) names;
};
void rpc_here_list(const struct conf *conf, struct rpc_names *out);
void rpc_here_done(struct rpc_names *n);
/* One call to one of them, as rpc_call(): the kernel tells it who calls. */
int rpc_here_call(const struct conf *conf, const char *node, enum rpc_number rpc,
                  const ProtobufCMessage *request, struct arena *arena, void *reply,
                  struct err *err);

/* A secret that the daemons of the cluster can make of the token, and nobody else who sees it.
 * node: whose daemon is asked first, where it is on this host, NULL: any. *fd is the connection to
 * that one then, for rpc_node_target, and -1 when another one has answered; NULL: it is not kept.
 */
#define RPC_SECRET_AUDIENCE "srun"
int rpc_secret_new(const struct conf *conf, const char *node, uint8_t token[AUTH_TOKEN_SIZE],
                   struct auth_key *secret, int *fd, struct err *err);

/* The same on a loop. done() is called once, from the loop, with 0 and the reply (valid until it
 * returns) or with a failure; never when the call was dropped. */
struct rpc_async;
typedef void rpc_done_fn(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err);
struct rpc_async *rpc_async_controller(struct loop *l, const struct conf *conf, enum rpc_number rpc,
                                       const ProtobufCMessage *request, int64_t timeout_ms,
                                       rpc_done_fn *done, void *ctx);
void rpc_async_drop(struct rpc_async *a);

/* A connection to a controller's local socket that is open between two calls. */
struct rpc_kept {
    int fd;       /* -1: none */
    size_t place; /* which of the places where controllers are looked for */
};
void rpc_kept_close(struct rpc_kept *k);
/* At once after rpc_async_controller(): the call takes the connection of an earlier call of the
 * same configuration, and leaves its own when it was answered over a local socket. A connection
 * that was closed meanwhile is replaced, so the controller may get the request twice. 'k' outlives
 * the call. */
void rpc_async_keep(struct rpc_async *a, struct rpc_kept *k);

/* One request to many node daemons at a time (each gets a token of its own, minted in one go).
 * done() once per node, index being its place; never from within rpc_fanout_start(). The fanout may
 * be freed in it, and is to be freed after the last. conf is borrowed until then, as in
 * rpc_async_controller(). */
struct rpc_node_target {
    const char *node, *addr;
    uint16_t port;
    bool here; /* Its address is this host's. An only target gets the request by its local socket
                  when that is open: without a token, and without minting one. */
    int *fd;   /* With 'here': such a connection, which is taken; NULL or -1: none. */
};
typedef void rpc_node_done_fn(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                              const struct err *err);
struct rpc_fanout;
struct rpc_fanout *rpc_fanout_start(struct loop *l, const struct conf *conf,
                                    const struct rpc_node_target *targets, size_t count,
                                    enum rpc_number rpc, const ProtobufCMessage *request,
                                    int64_t timeout_ms, rpc_node_done_fn *done, void *ctx);
void rpc_fanout_free(struct rpc_fanout *f);
