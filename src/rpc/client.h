/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The calling side. A command makes one blocking call at a time. The call uses the controller's
 * local socket if there is one (the kernel identifies the caller), else TCP with a token minted by
 * the local node daemon. The client does no cryptography except one hash, and needs no event loop.
 * srun and salloc make several concurrent calls on an event loop.
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

/* Connects to the controllers of one cluster and keeps one connection open between calls. */
struct rpc_client;

/* False if the environment has SLUICE_NO_LOCAL_SOCKET=1. Requests to the controller and to nodes
 * then use TCP even where a local socket exists; tests and the benchmark compare both. Tokens
 * still come from the local daemon. */
bool rpc_local_socket_wanted(void);

/* A controller may reply ERR_BACKOFF when a user sends too many requests. The client then repeats
 * the request after a pause, without limit unless the caller has set a time limit. fn, which may
 * be NULL, is called before each pause. The setting is global to the process. */
typedef void rpc_backoff_fn(const char *why);
void rpc_on_backoff(rpc_backoff_fn *fn);

struct rpc_client *rpc_client_new(const struct conf *conf); /* conf is borrowed */
void rpc_client_free(struct rpc_client *c);

/* value of timeout_ms that waits without limit, for calls that are answered when an event
   happens */
#define RPC_WAIT_FOREVER (-1)

/* Makes one call. timeout_ms 0 means MessageTimeout. On success *reply is allocated in the arena.
 * On failure err has the controller's code and text, or ERR_CONNECT with each host:port that was
 * tried and its failure. Controllers are tried in order. */
int rpc_call(struct rpc_client *c, enum rpc_number rpc, const ProtobufCMessage *request,
             int64_t timeout_ms, struct arena *arena, void *reply,
             struct err *err); /* reply: pointer to a message pointer */

/* A call with a streamed reply: part() receives each part, unpacked in an arena that is freed when
 * part() returns. A non-zero return value of part() ends the call. */
typedef int rpc_part_fn(void *ctx, const ProtobufCMessage *part, struct err *err);
int rpc_call_stream(struct rpc_client *c, enum rpc_number rpc, const ProtobufCMessage *request,
                    rpc_part_fn *part, void *ctx, struct err *err);
/* Like rpc_call_stream(), but the parts are allocated in the caller's arena, whose own budget is
   ignored. */
int rpc_call_stream_kept(struct rpc_client *c, enum rpc_number rpc, const ProtobufCMessage *request,
                         struct arena *arena, rpc_part_fn *part, void *ctx, struct err *err);

/* The sorted names of the nodes whose daemons have a local socket on this host. A killed daemon
 * may have left its socket behind. */
struct rpc_names {
    VEC(char *) names;
};
void rpc_here_list(const struct conf *conf, struct rpc_names *out);
void rpc_here_done(struct rpc_names *n);
/* Like rpc_call(), to one of these node daemons. The kernel identifies the caller to the
   daemon. */
int rpc_here_call(const struct conf *conf, const char *node, enum rpc_number rpc,
                  const ProtobufCMessage *request, struct arena *arena, void *reply,
                  struct err *err);

/* Mints a token and the secret that belongs to the token. Only the daemons of the cluster can
   derive the secret from the token.

   node is the node whose daemon on this host is asked first; NULL means any daemon. If that daemon
   answers, *fd is the connection to it, for use in rpc_node_target; if another daemon answers, *fd
   is -1. fd NULL closes the connection. */
#define RPC_SECRET_AUDIENCE "srun"
int rpc_secret_new(const struct conf *conf, const char *node, uint8_t token[AUTH_TOKEN_SIZE],
                   struct auth_key *secret, int *fd, struct err *err);

/* Like rpc_call(), on an event loop. The loop calls done() once, with 0 and the reply (valid until
 * done() returns) or with a failure. done() is not called for a dropped call. */
struct rpc_async;
typedef void rpc_done_fn(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err);
struct rpc_async *rpc_async_controller(struct loop *l, const struct conf *conf, enum rpc_number rpc,
                                       const ProtobufCMessage *request, int64_t timeout_ms,
                                       rpc_done_fn *done, void *ctx);
void rpc_async_drop(struct rpc_async *a);

/* A connection to a controller's local socket that stays open between calls. */
struct rpc_kept {
    int fd;       /* -1: none */
    size_t place; /* index of the controller in the list of places */
};
void rpc_kept_close(struct rpc_kept *k);
/* Call directly after rpc_async_controller(). The call uses the connection kept from an earlier
 * call of the same configuration, and keeps its own connection if the reply came over a local
 * socket. If the kept connection has been closed in the meantime, the request is repeated over a
 * new one, so the controller may receive the request twice. k must outlive the call. */
void rpc_async_keep(struct rpc_async *a, struct rpc_kept *k);

/* Sends one request to many node daemons in parallel. Each daemon gets its own token; all tokens
 * are minted in one call. done() is called once per node with the node's index, and never from
 * within rpc_fanout_start(). The fanout may be freed inside done(), and must be freed after the
 * last done(). conf is borrowed until then, as in rpc_async_controller(). */
struct rpc_node_target {
    const char *node, *addr;
    uint16_t port;
    /* The address belongs to this host. If the target is the only one and its local socket is
       open, the request uses that socket and no token is minted. */
    bool here;
    /* With 'here': a connection to the local socket, which the call takes over. NULL or -1:
       none. */
    int *fd;
};
typedef void rpc_node_done_fn(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                              const struct err *err);
struct rpc_fanout;
struct rpc_fanout *rpc_fanout_start(struct loop *l, const struct conf *conf,
                                    const struct rpc_node_target *targets, size_t count,
                                    enum rpc_number rpc, const ProtobufCMessage *request,
                                    int64_t timeout_ms, rpc_node_done_fn *done, void *ctx);
void rpc_fanout_free(struct rpc_fanout *f);
