/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The serving side's own structures, shared by listen.c, caller.c, quota.c and reply.c. */
#pragma once

#include <netinet/in.h>

#include "base/hash.h"
#include "rpc/accept.h"
#include "rpc/channel.h"
#include "rpc/conn.h"
#include "rpc/seal.h"
#include "rpc/server.h"

#define RPC_PEER_TEXT_MAX (RPC_ADDR_TEXT_MAX + 16)

/* Whose connections are counted together: an address without its port, or a uid. */
struct rpc_peer_key {
    uint32_t family; /* of an address */
    uint8_t bytes[16];
};
struct rpc_peer {
    struct rpc_peer_key key;
    unsigned refs;                /* callers that name it */
    unsigned connections;         /* that count here */
    struct rpc_caller *strangers; /* of an address, the oldest first */
    struct rpc_caller *served;    /* of a user, the one that was silent longest first */
    struct rpc_share share;
    UT_hash_handle hh;
};

struct rpc_listener {
    struct rpc_server *server;
    int fd;
    struct loop_fd *watch;
    bool local;
    char *path; /* of a UNIX socket that has one, removed with the listener */
    struct rpc_listener *prev, *next;
};

/* A caller whose connection a JSON Web Token has proved. */
struct rpc_bearer {
    struct auth_jwt_claims claims;
    bool waits;               /* for the ids of its user: nothing is read meanwhile */
    bool has_expired;         /* when its open calls were checked last */
    struct loop_timer *timer; /* while it has open calls: their token is checked again */
};

/* A connection to the server. */
struct rpc_caller {
    struct rpc_server *server;
    struct rpc_conn *conn;       /* NULL: the session has it */
    struct rpc_session *session; /* or NULL */
    struct rpc_peer *address;    /* a stranger's; else NULL */
    struct rpc_peer *user;       /* whose frames these are; NULL: not known yet */
    bool counted;                /* among the user's connections */
    bool local;
    struct rpc_bearer *bearer; /* its JSON Web Token; NULL: it has none */
    struct auth_identity who;  /* local: from the kernel; by a JSON Web Token: of its user; other
                                  TCP:  of the last token, for messages */
    unsigned roles;            /* local only */
    char text[RPC_PEER_TEXT_MAX];
    struct rpc_call *calls;
    unsigned open;
    bool ended; /* asks nothing more; finished with the last answer */
    struct rpc_caller *prev, *next;
    struct rpc_caller *stranger_prev, *stranger_next; /* of the same address */
    struct rpc_caller *served_prev, *served_next;     /* of the same user */
    bool listed;                                      /* among these */
    struct rpc_caller *unknown_prev, *unknown_next;   /* bearers that wait */
};

/* An unanswered request. */
struct rpc_call {
    uint64_t number;
    struct rpc_caller *caller;
    const struct rpc_info *rpc;
    uint64_t request_id;
    bool wants_drain;        /* parts were sent since on_drained */
    struct rpc_seal *seal;   /* of its answers; NULL: local */
    struct rpc_inner *inner; /* who gets the answer instead of the caller; NULL: the caller does */
    struct rpc_call *prev, *next;
    UT_hash_handle hh;
};

struct rpc_server {
    struct rpc_server_options opt;
    struct rpc_server_events events;
    char audience[AUTH_NAME_MAX + 1];
    struct rpc_io *io;
    struct auth_replay *replay;
    int64_t started_at_ms; /* wall */
    struct rpc_channel_keys keys;
    struct rpc_jwt_rules jwt;
    struct rpc_listener *listeners;
    struct loop_timer *accept_timer; /* while descriptors are short */
    struct rpc_peer *users, *addresses;
    unsigned users_max, reserved, strangers_max; /* connections */
    unsigned user_count, stranger_count;
    struct rpc_caller *callers;
    struct rpc_caller *unknown; /* of these, bearers that wait for the ids of their users */
    struct rpc_call *calls;     /* by number */
    uint64_t last_call;
    struct rpc_same *same;  /* calls that others have joined */
    struct rpc_rate *rate;  /* NULL: none */
    struct rpc_rate *heavy; /* of users, rpc_server_may_answer() */
    uint64_t rate_refused;
    struct rpc_info limited; /* a row of rpc.def with fewer bytes; number 0: none */
    struct err no_sessions;  /* why none may begin; code 0: they may */
    bool freeing;
};

/* quota.c */
void rpc_quota_init(struct rpc_server *s);
/* A caller on the local socket counts as its user, or is refused (-ERR_BUSY). Where a user has too
 * many connections, the one that was idle longest is closed in favour of the new one. */
int rpc_quota_local(struct rpc_caller *c, struct err *err);
/* A caller over TCP, with its connection: older ones may give way to it. */
void rpc_quota_stranger(struct rpc_caller *c, const struct rpc_addr *addr);
/* Descriptors are short: a stranger goes. False: there is none. */
bool rpc_quota_make_way(struct rpc_server *s);
/* What it sends is on this user's account. */
void rpc_quota_payer(struct rpc_caller *c, uid_t uid);
/* It has proved to be that user: no stranger any more, or refused (-ERR_BUSY). */
int rpc_quota_user(struct rpc_caller *c, unsigned roles, struct err *err);
/* It has sent a request: others of its user are idle for longer. */
void rpc_quota_used(struct rpc_caller *c);
/* It has proved that it knows the key: no stranger any more. */
void rpc_quota_session(struct rpc_caller *c);
void rpc_quota_leave(struct rpc_caller *c);

/* caller.c: takes the descriptor. */
void rpc_caller_new(struct rpc_server *s, int fd, bool local, const struct rpc_addr *addr);
void rpc_caller_free(struct rpc_caller *c);
/* A frame that does not fit the protocol, or the caller itself (f NULL): answered, told, and
 * nothing more is read here. */
void rpc_caller_refuse(struct rpc_caller *c, const struct rpc_frame *f, const struct err *err);
void rpc_server_refused(struct rpc_server *s, const char *peer, const char *why);

/* jwt.c */
int rpc_bearer_begin(struct rpc_caller *c, const void *signed_part, size_t len, struct err *err);
/* Whether its request may be read: -ERR_AUTH or -ERR_SKEW. */
int rpc_bearer_check(struct rpc_caller *c, const struct rpc_header *h, struct err *err);
/* It has an open call, which is refused when its user is gone, and one of lane FOLLOW also when the
 * token expires. */
void rpc_bearer_watch(struct rpc_caller *c);
void rpc_bearer_free(struct rpc_caller *c); /* also when there is none */

/* Whether frames need no proofs of their own: the kernel or the channel proves who sends them. */
static inline bool rpc_caller_is_proved(const struct rpc_caller *c)
{
    return c->local || c->bearer;
}

/* reply.c */
struct rpc_call *rpc_call_new(struct rpc_caller *c, const struct rpc_frame *f);
struct rpc_call *rpc_call_find(struct rpc_server *s, uint64_t number);   /* NULL: it is over */
struct rpc_call *rpc_call_of(struct rpc_caller *c, uint64_t request_id); /* NULL: it is over */
void rpc_call_drop(struct rpc_server *s, struct rpc_call *call);         /* on_gone for it */
void rpc_calls_drop(struct rpc_caller *c);                               /* on_gone for each */
void rpc_calls_drained(struct rpc_caller *c);
void rpc_caller_answer_error(struct rpc_caller *c, const struct rpc_header *h, int code,
                             const char *text);
/* The same, to who has proved who he is. */
void rpc_caller_deny(struct rpc_caller *c, const struct rpc_frame *f, int code, const char *text);

/* same.c: those that have joined a call; take: there are none then. */
#define RPC_SAME_MAX 16 /* the oldest of more are answered by nobody */
size_t rpc_same_list(struct rpc_server *s, uint64_t first, uint64_t others[RPC_SAME_MAX],
                     bool take);
void rpc_same_forget_all(struct rpc_server *s);
