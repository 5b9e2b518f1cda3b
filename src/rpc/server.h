/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The serving side, on the event loop: listens on TCP and UNIX sockets, reads frames within their
 * limits and deadlines, establishes identity, authorises by the table, unpacks, and calls one
 * handler. The handler decodes and authorises nothing. It answers now or later, by the call's
 * number; a caller that went away makes the answer a no-op.
 *
 * Refused frames are answered with an error naming why, logged by the handler's owner through
 * on_refused, rate-limited.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "auth/jwt.h"
#include "base/arena.h"
#include "conf/conf.h"
#include "loop/loop.h"
#include "rpc/http.h"
#include "rpc/rate.h"
#include "rpc/rpc.h"
#include "rpc/session.h"

struct rpc_server;

struct rpc_request {
    uint64_t call; /* names this call in replies; never reused by this process */
    const struct rpc_info *rpc;
    const ProtobufCMessage *body;
    struct arena
        *arena; /* body's memory: valid until the handler returns, or take it (rpc_request_take) */
    struct auth_identity who;
    unsigned roles;   /* RPC_WHO_* of the caller */
    const char *peer; /* "10.0.0.1:4711" or "local uid 1000", for messages */
    bool by_jwt;      /* a JSON Web Token proved it */
    bool is_secret;   /* nobody on the way reads it: the local socket, or an encrypted channel */
    bool prepare;     /* only: rpc_prepared() when all that can fail is done; then the owner of the
                         outer call says when, or on_gone() that it is not wanted */
    const struct rpc_frame
        *frame; /* that it came in, until the handler returns; NULL: in another */
};

/* More of a request that is not answered yet: what its caller sends after it. */
struct rpc_more {
    uint64_t call;
    const struct rpc_info *rpc;
    const ProtobufCMessage *body; /* until the handler returns */
};

struct rpc_server_events {
    void (*on_request)(void *ctx, const struct rpc_request *request);
    void (*on_more)(void *ctx, const struct rpc_more *more); /* NULL: such frames are refused */
    void (*on_gone)(void *ctx, uint64_t call);    /* the caller of an unanswered call has closed */
    void (*on_drained)(void *ctx, uint64_t call); /* a streamed call may send more */
    void (*on_session)(void *ctx, struct rpc_session *s,
                       const char *peer_name); /* accepted; set its events now */
    void (*on_refused)(void *ctx, const char *peer, const char *why);
    /* Fills the answer, whose status is 404. NULL: HTTP is refused as any other protocol. */
    void (*on_http)(void *ctx, const struct rpc_http *request, struct rpc_http_answer *a);
    void *ctx;
};

struct rpc_server_options {
    struct loop *loop;
    const struct auth_key *key; /* borrowed */
    const char *audience;       /* what tokens must name: "slurmctld" or the node name */
    uid_t admin_uid;            /* SlurmUser; root always is */
    uid_t node_uid;             /* SlurmdUser: sessions name it */
    bool refuse_plain;          /* sessions only (srun's I/O port) */
    unsigned sessions;          /* so many may begin at the same time; 0: as many as may be */
};

struct rpc_server *rpc_server_new(const struct rpc_server_options *options,
                                  const struct rpc_server_events *events);
/* Closes everything, sessions too, and calls nobody. Not from within a callback of this server. */
void rpc_server_free(struct rpc_server *s);

/* Keeps the body beyond the handler: its memory is the caller's, who ends it with arena_done(). */
void rpc_request_take(const struct rpc_request *request, struct arena *into);

/* addr NULL: every address. port 0: any; returns the bound port. err names host and port. */
int rpc_server_listen_tcp(struct rpc_server *s, const char *addr, uint16_t port, struct err *err);
/* Replaces a socket that was left there, in one step; makes the directory (0755) when it is missing
 * and refuses one that others own or may write to. The socket is removed by rpc_server_unlisten().
 */
int rpc_server_listen_unix(struct rpc_server *s, const char *path, mode_t mode, struct err *err);
/* The daemon's local socket of this name (conf_socket_node(), conf_socket_controller()), in the
 * first directory of conf that this process may write to; returns its number. */
int rpc_server_listen_here(struct rpc_server *s, const struct conf *conf, const char *name,
                           struct err *err);
/* A UNIX socket under a new name, without a file, for programs of this host that are told of it.
 * Any user of the host may connect: what they ask for has to be proved, as by a session. */
int rpc_server_listen_abstract(struct rpc_server *s, char name[RPC_ABSTRACT_SIZE], struct err *err);
void rpc_server_unlisten(struct rpc_server *s); /* close the listeners, keep the calls */
/* Who connects from now on is neither accepted nor refused: it waits, and is reset when the
 * listeners are closed. So it knows that nothing was done of what it asks. */
void rpc_server_stop_accepting(struct rpc_server *s);

/* Requests of a user beyond this rate are answered with -ERR_BACKOFF and not handled; those of
 * root, the daemons' users and for tokens are not counted. NULL: as many as they like. */
void rpc_server_limit_rate(struct rpc_server *s, const struct rpc_rate_options *options);
uint64_t rpc_server_rate_refused(const struct rpc_server *s); /* so far */

/* JSON Web Tokens in the place of tokens of the local daemon (rpc/channel.h). A token proves its
 * user for as long as its connection lasts and it has not expired. */
struct rpc_jwt_rules {
    const struct auth_jwt_key *key; /* borrowed; NULL: none are accepted */
    /* What the token says: as auth_jwt_read(), which programs that accept none are not linked with.
     */
    int (*read)(void *ctx, const void *signed_part, size_t len, int64_t now_ms,
                struct auth_jwt_claims *out, struct err *err);
    /* The ids of a user: 0, -ENOENT, or -EAGAIN: they are being looked up, and
     * rpc_server_users_known() is called when there is news. */
    int (*find_user)(void *ctx, const char *name, uid_t *uid, gid_t *gid);
    void *ctx;
};
void rpc_server_accept_jwt(struct rpc_server *s, const struct rpc_jwt_rules *rules);
void rpc_server_users_known(struct rpc_server *s);

struct rpc_server_counts {
    unsigned users, strangers; /* connections of users, and of callers who are not known yet */
    unsigned calls;            /* requests without an answer */
};
struct rpc_server_counts rpc_server_count(const struct rpc_server *s);

/* False: it was answered, or its caller is gone. */
bool rpc_call_is_open(struct rpc_server *s, uint64_t call);
/* Before an answer of 'len' bytes that is expensive to make: 64 MiB of such at once and 12 MiB/s
 * for each user. False: the request is to be answered with -ERR_BACKOFF. */
bool rpc_server_may_answer(struct rpc_server *s, const struct rpc_request *request, size_t len);
/* The request has taken the daemon so long; from 10 ms on this counts as an expensive answer: a
 * second at once, and a fifth of the time, for each user. */
void rpc_server_charge(struct rpc_server *s, const struct rpc_request *request, int64_t usec);

/* Requests of this kind may have fewer bytes than rpc.def says. One kind at a time. */
void rpc_server_limit_size(struct rpc_server *s, enum rpc_number rpc, uint32_t bytes);

/* Sessions that begin are refused with this error until it is called with code 0. */
void rpc_server_refuse_sessions(struct rpc_server *s, int code, const char *why);
/* Tokens made before now are not taken any more: another server may have seen them. */
void rpc_server_distrust_tokens(struct rpc_server *s);
/* Every call that is still open. */
void rpc_server_fail_calls(struct rpc_server *s, int code, const char *text);

/* Answers a MINT call: tokens for its caller, whom the kernel named, for each audience. */
void rpc_answer_mint(struct rpc_server *s, const struct rpc_request *request, int64_t ttl_ms);

/* A request that came inside another one: handled as though its caller had sent it on a connection
 * of its own, on_request() being called before this returns. Its answer goes to answered(), whoever
 * answers it and however; unless the outer call is gone before. */
struct rpc_inner {
    uint64_t outer; /* the call that it came in, not answered yet */
    unsigned rpc;
    const void *body;
    size_t len;
    struct auth_identity who; /* as proved by the outer one */
    unsigned roles;
    const char *peer;
    bool prepare;
    void (*prepared)(void *ctx); /* NULL where nothing is to be prepared only */
    /* code 0: 'answer' is the packed reply; else the text of the error. */
    void (*answered)(void *ctx, int code, const void *answer, size_t len);
    void *ctx;
};
/* Its call; 0: it is answered. */
uint64_t rpc_call_inner(struct rpc_server *s, const struct rpc_inner *inner);
/* Nobody waits for its answer any more: on_gone() is called, answered() is not. While the outer
 * call is open, or goes itself; of a call that is over it has no effect. */
void rpc_call_inner_drop(struct rpc_server *s, uint64_t call);
void rpc_prepared(struct rpc_server *s, uint64_t call);

/* The other call asks for the same as the first, which need not be open any more: it gets what the
 * first gets, by rpc_reply(), rpc_reply_error() and rpc_prepared(). */
void rpc_call_join(struct rpc_server *s, uint64_t first, uint64_t other);
bool rpc_call_is_joined(struct rpc_server *s, uint64_t first, uint64_t other);
/* The first is not wanted any more: one of the others, in its place; 0: there is none. */
uint64_t rpc_call_heir(struct rpc_server *s, uint64_t first);

void rpc_reply(struct rpc_server *s, uint64_t call, const ProtobufCMessage *reply);
void rpc_reply_error(struct rpc_server *s, uint64_t call, int code, const char *text);

/* A packed reply, or with 'more' a part of one; rpc_backlog() tells how much waits to be sent. */
void rpc_reply_bytes(struct rpc_server *s, uint64_t call, const void *data, size_t len, bool more);
size_t rpc_backlog(struct rpc_server *s, uint64_t call);
