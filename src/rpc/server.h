/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The serving side, on the event loop. It listens on TCP and UNIX sockets, reads frames within
 * their limits and deadlines, establishes the caller's identity, authorises by the table, unpacks,
 * and calls one handler. The handler neither decodes nor authorises. It replies at once or later,
 * by the number of the call; a reply to a caller that has gone has no effect.
 *
 * Refused frames are answered with an error that gives the reason, and reported, rate-limited,
 * through on_refused so that the handler's owner can log them.
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
    uint64_t call; /* identifies this call in replies; unique within this process */
    const struct rpc_info *rpc;
    const ProtobufCMessage *body;
    struct arena
        /* Memory of the body: valid until the handler returns, or taken over by
           rpc_request_take() */
        *arena;
    struct auth_identity who;
    unsigned roles;   /* RPC_WHO_* of the caller */
    const char *peer; /* "10.0.0.1:4711" or "local uid 1000", for messages */
    bool by_jwt;      /* authenticated by a JSON Web Token */
    bool is_secret;   /* the request was confidential: local socket or encrypted channel */
    /* Prepare only: the handler calls rpc_prepared() when nothing can fail any longer. The owner
       of the outer call then commits the request, or on_gone() cancels it. */
    bool prepare;
    const struct rpc_frame
        /* The frame of this request, until the handler returns; NULL: the request was inside
           another one. */
        *frame;
};

/* A further frame of an unanswered request, sent by its caller. */
struct rpc_more {
    uint64_t call;
    const struct rpc_info *rpc;
    const ProtobufCMessage *body; /* valid until the handler returns */
};

struct rpc_server_events {
    void (*on_request)(void *ctx, const struct rpc_request *request);
    void (*on_more)(void *ctx, const struct rpc_more *more); /* NULL: such frames are refused */
    /* The caller of an unanswered call has closed the connection. */
    void (*on_gone)(void *ctx, uint64_t call);
    void (*on_drained)(void *ctx, uint64_t call); /* a streamed call may send more */
    /* The session is accepted; the owner now sets its events. */
    void (*on_session)(void *ctx, struct rpc_session *s, const char *peer_name);
    void (*on_refused)(void *ctx, const char *peer, const char *why);
    /* Fills in the answer, whose status is preset to 404. NULL: HTTP is refused like any unknown
       protocol. */
    void (*on_http)(void *ctx, const struct rpc_http *request, struct rpc_http_answer *a);
    void *ctx;
};

struct rpc_server_options {
    struct loop *loop;
    const struct auth_key *key; /* borrowed */
    /* The audience that tokens must have: "slurmctld" or the node name. */
    const char *audience;
    uid_t admin_uid;   /* SlurmUser; root is always an administrator */
    uid_t node_uid;    /* SlurmdUser: the user id of sessions */
    bool refuse_plain; /* accept sessions only (srun's I/O port) */
    /* Expected number of simultaneous session handshakes; 0: as many as possible. */
    unsigned sessions;
};

struct rpc_server *rpc_server_new(const struct rpc_server_options *options,
                                  const struct rpc_server_events *events);
/* Closes all connections and sessions without calling any callback. Must not be called from a
   callback of this server. */
void rpc_server_free(struct rpc_server *s);

/* Keeps the body beyond the handler: the caller becomes the owner of its memory and frees it with
   arena_done(). */
void rpc_request_take(const struct rpc_request *request, struct arena *into);

/* addr NULL: every address. port 0: any; returns the bound port. err names host and port. */
int rpc_server_listen_tcp(struct rpc_server *s, const char *addr, uint16_t port, struct err *err);
/* Replaces a leftover socket atomically. Creates the directory (0755) if it is missing, and
   refuses a directory that other users own or may write to. rpc_server_unlisten() removes the
   socket. */
int rpc_server_listen_unix(struct rpc_server *s, const char *path, mode_t mode, struct err *err);
/* Listens on the daemon's local socket with this name (conf_socket_node(),
 * conf_socket_controller()), in the first directory of conf that this process may write to.
 * Returns the index of that directory. */
int rpc_server_listen_here(struct rpc_server *s, const struct conf *conf, const char *name,
                           struct err *err);
/* Listens on an abstract UNIX socket with a new name, for programs on this host that are given the
 * name. Any user of the host may connect, so requests need proof, for example a session. */
int rpc_server_listen_abstract(struct rpc_server *s, char name[RPC_ABSTRACT_SIZE], struct err *err);
void rpc_server_unlisten(struct rpc_server *s); /* close the listeners, keep the calls */
/* Stops accepting: later connections stay in the listen queue and are reset when the listeners are
 * closed. Their callers therefore know that the request was not executed. */
void rpc_server_stop_accepting(struct rpc_server *s);

/* Requests of a user beyond this rate are answered with -ERR_BACKOFF and not handled. Requests of
 * root and of the daemons' users, and requests for tokens, are exempt. NULL: no limit. */
void rpc_server_limit_rate(struct rpc_server *s, const struct rpc_rate_options *options);
/* Total number of refused requests. */
uint64_t rpc_server_rate_refused(const struct rpc_server *s);

/* JSON Web Tokens as an alternative to tokens of the local daemon (rpc/channel.h). A token
 * authenticates its user for as long as its connection is open and the token has not expired. */
struct rpc_jwt_rules {
    const struct auth_jwt_key *key; /* borrowed; NULL: JSON Web Tokens are refused */
    /* Parses the token, as auth_jwt_read(). A callback, so that programs without JSON Web Tokens
       need not link that function. */
    int (*read)(void *ctx, const void *signed_part, size_t len, int64_t now_ms,
                struct auth_jwt_claims *out, struct err *err);
    /* Finds the ids of a user. Returns 0, -ENOENT, or -EAGAIN while the lookup runs;
     * rpc_server_users_known() is called when it has finished. */
    int (*find_user)(void *ctx, const char *name, uid_t *uid, gid_t *gid);
    void *ctx;
};
void rpc_server_accept_jwt(struct rpc_server *s, const struct rpc_jwt_rules *rules);
void rpc_server_users_known(struct rpc_server *s);

struct rpc_server_counts {
    unsigned users, strangers; /* connections of users, and of unauthenticated callers */
    unsigned calls;            /* unanswered requests */
};
struct rpc_server_counts rpc_server_count(const struct rpc_server *s);

/* Checks the budget for expensive replies, before a reply of len bytes is made: each user has a
 * burst of 64 MiB and 12 MiB/s. False: answer the request with -ERR_BACKOFF. */
bool rpc_server_may_answer(struct rpc_server *s, const struct rpc_request *request, size_t len);
/* Charges the time that the request has taken the daemon. From 10 ms on it counts against the
 * budget for expensive replies: a burst of one second and a fifth of the time, for each user. */
void rpc_server_charge(struct rpc_server *s, const struct rpc_request *request, int64_t usec);

/* Limits requests of this kind to fewer bytes than rpc.def allows. Applies to one kind only. */
void rpc_server_limit_size(struct rpc_server *s, enum rpc_number rpc, uint32_t bytes);

/* New sessions are refused with this error until the function is called with code 0. */
void rpc_server_refuse_sessions(struct rpc_server *s, int code, const char *why);
/* Rejects tokens minted before now, because another server may have seen them. */
void rpc_server_distrust_tokens(struct rpc_server *s);
/* Answers a MINT call: tokens for its caller, whom the kernel identified, for each audience. */
void rpc_answer_mint(struct rpc_server *s, const struct rpc_request *request, int64_t ttl_ms);
