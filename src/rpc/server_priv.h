/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structures of the serving side, shared by listen.c, caller.c, quota.c and reply.c. */
#pragma once

#include <netinet/in.h>

#include "base/hash.h"
#include "rpc/accept.h"
#include "rpc/channel.h"
#include "rpc/conn.h"
#include "rpc/reply.h"
#include "rpc/seal.h"
#include "rpc/server.h"

#define RPC_PEER_TEXT_MAX (RPC_ADDR_TEXT_MAX + 16)

/* The key under which connections are counted together: an address without its port, or a uid. */
struct rpc_peer_key {
    uint32_t family; /* address family, for an address */
    uint8_t bytes[16];
};
struct rpc_peer {
    struct rpc_peer_key key;
    unsigned refs;                /* number of callers that refer to this peer */
    unsigned connections;         /* number of connections counted here */
    struct rpc_caller *strangers; /* of an address; oldest first */
    struct rpc_caller *served;    /* of a user; longest idle first */
    struct rpc_share share;
    UT_hash_handle hh;
};

struct rpc_listener {
    struct rpc_server *server;
    int fd;
    struct loop_fd *watch;
    bool local;
    char *path; /* path of a UNIX socket in the file system; removed with the listener */
    struct rpc_listener *prev, *next;
};

/* A caller authenticated by a JSON Web Token. */
struct rpc_bearer {
    struct auth_jwt_claims claims;
    bool waits;               /* waits for the ids of its user; nothing is read meanwhile */
    bool has_expired;         /* had expired at the last check of its open calls */
    struct loop_timer *timer; /* runs while calls are open: checks their token again */
};

/* A connection to the server. */
struct rpc_caller {
    struct rpc_server *server;
    struct rpc_conn *conn;       /* NULL: the session owns it */
    struct rpc_session *session; /* or NULL */
    struct rpc_peer *address;    /* of an unauthenticated caller; else NULL */
    struct rpc_peer *user;       /* the user who is charged for the frames; NULL: not known yet */
    bool counted;                /* counted among the user's connections */
    bool local;
    struct rpc_bearer *bearer; /* its JSON Web Token; NULL: it has none */
    /* Local: from the kernel; JSON Web Token: its user; other TCP: the user of the last token, for
       messages. */
    struct auth_identity who;
    unsigned roles; /* local connections only */
    char text[RPC_PEER_TEXT_MAX];
    struct rpc_call *calls;
    unsigned open;
    /* The peer sends no further requests; the connection closes after the last reply. */
    bool ended;
    struct rpc_caller *prev, *next;
    struct rpc_caller *stranger_prev, *stranger_next; /* list of the same address */
    struct rpc_caller *served_prev, *served_next;     /* list of the same user */
    bool listed;                                      /* is in the list of its user */
    struct rpc_caller *unknown_prev, *unknown_next;   /* list of bearers that wait for ids */
};

/* An unanswered request. */
struct rpc_call {
    uint64_t number;
    struct rpc_caller *caller;
    const struct rpc_info *rpc;
    uint64_t request_id;
    bool wants_drain;      /* parts were sent since the last on_drained */
    struct rpc_seal *seal; /* seals the replies; NULL: local */
    /* Receives the reply instead of the caller; NULL: the caller receives it. */
    struct rpc_inner *inner;
    struct rpc_call *prev, *next;
    UT_hash_handle hh;
};

struct rpc_server {
    struct rpc_server_options opt;
    struct rpc_server_events events;
    char audience[AUTH_NAME_MAX + 1];
    struct rpc_io *io;
    struct auth_replay *replay;
    int64_t started_at_ms; /* wall-clock time */
    struct rpc_channel_keys keys;
    struct rpc_jwt_rules jwt;
    struct rpc_listener *listeners;
    struct loop_timer *accept_timer; /* runs while descriptors are exhausted */
    struct rpc_peer *users, *addresses;
    unsigned users_max, reserved, strangers_max; /* limits of the number of connections */
    unsigned user_count, stranger_count;
    struct rpc_caller *callers;
    /* The callers of these connections that wait for the ids of their users. */
    struct rpc_caller *unknown;
    struct rpc_call *calls; /* by number */
    uint64_t last_call;
    struct rpc_same *same;  /* calls that have other calls joined to them */
    struct rpc_rate *rate;  /* NULL: no limit */
    struct rpc_rate *heavy; /* budget per user, rpc_server_may_answer() */
    uint64_t rate_refused;
    struct rpc_info limited; /* a row of rpc.def with a lower byte limit; number 0: none */
    /* The error that refuses new sessions; code 0: sessions are accepted. */
    struct err no_sessions;
    bool freeing;
};

/* quota.c */
void rpc_quota_init(struct rpc_server *s);
/* Counts a caller on the local socket as its user, or refuses it (-ERR_BUSY). If the user has too
 * many connections, the one that was idle longest is closed in favour of the new one. */
int rpc_quota_local(struct rpc_caller *c, struct err *err);
/* Counts an unauthenticated TCP connection; older ones may be closed in its favour. */
void rpc_quota_stranger(struct rpc_caller *c, const struct rpc_addr *addr);
/* Closes one unauthenticated connection when descriptors are exhausted. False: there is none. */
bool rpc_quota_make_way(struct rpc_server *s);
/* Charges the caller's input to this user. */
void rpc_quota_payer(struct rpc_caller *c, uid_t uid);
/* The caller has authenticated as its user: counts it there, or refuses it (-ERR_BUSY). */
int rpc_quota_user(struct rpc_caller *c, unsigned roles, struct err *err);
/* Moves the caller to the end of the idle order of its user, because it has sent a request. */
void rpc_quota_used(struct rpc_caller *c);
/* The caller has proved that it knows the key, and is no longer counted as a stranger. */
void rpc_quota_session(struct rpc_caller *c);
void rpc_quota_leave(struct rpc_caller *c);

/* caller.c. Takes ownership of the descriptor. */
void rpc_caller_new(struct rpc_server *s, int fd, bool local, const struct rpc_addr *addr);
void rpc_caller_free(struct rpc_caller *c);
/* Refuses a frame that violates the protocol, or the caller itself (f NULL): sends an error,
 * reports it, and stops reading. */
void rpc_caller_refuse(struct rpc_caller *c, const struct rpc_frame *f, const struct err *err);
void rpc_server_refused(struct rpc_server *s, const char *peer, const char *why);

/* jwt.c */
int rpc_bearer_begin(struct rpc_caller *c, const void *signed_part, size_t len, struct err *err);
/* Checks whether the caller's request may be read: 0, -ERR_AUTH or -ERR_SKEW. */
int rpc_bearer_check(struct rpc_caller *c, const struct rpc_header *h, struct err *err);
/* The caller has an open call. The call is refused when the user is removed; a call of lane FOLLOW
 * also when the token expires. */
void rpc_bearer_watch(struct rpc_caller *c);
void rpc_bearer_free(struct rpc_caller *c); /* no effect if there is none */

/* Whether frames need no proof of their own because the kernel or the channel authenticates the
   peer. */
static inline bool rpc_caller_is_proved(const struct rpc_caller *c)
{
    return c->local || c->bearer;
}

/* reply.c */
struct rpc_call *rpc_call_new(struct rpc_caller *c, const struct rpc_frame *f);
/* NULL: the call has ended */
struct rpc_call *rpc_call_find(struct rpc_server *s, uint64_t number);
/* NULL: the call has ended */
struct rpc_call *rpc_call_of(struct rpc_caller *c, uint64_t request_id);
void rpc_call_drop(struct rpc_server *s, struct rpc_call *call); /* calls on_gone for it */
/* Calls on_gone for each. */
void rpc_calls_drop(struct rpc_caller *c);
void rpc_calls_drained(struct rpc_caller *c);
void rpc_caller_answer_error(struct rpc_caller *c, const struct rpc_header *h, int code,
                             const char *text);
/* Like rpc_caller_refuse(), for a caller that has authenticated. */
void rpc_caller_deny(struct rpc_caller *c, const struct rpc_frame *f, int code, const char *text);

/* The calls that have joined a call. 'take' removes them. */
#define RPC_SAME_MAX 16 /* if more join, the oldest are left without an answer */
size_t rpc_same_list(struct rpc_server *s, uint64_t first, uint64_t others[RPC_SAME_MAX],
                     bool take);
void rpc_same_forget_all(struct rpc_server *s);
