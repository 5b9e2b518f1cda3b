/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of RPCs (rpc.def) at run time, and the roles of callers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/err.h"

enum rpc_number {
#define RPC(number, name, request, reply, who, lane, kib, help) RPC_##name = number,
#include "rpc/rpc.def"
#undef RPC
};

enum rpc_who {
    RPC_WHO_USER = 1,
    RPC_WHO_OPERATOR = 2,
    RPC_WHO_ADMIN = 4,
    RPC_WHO_NODE = 8,
    RPC_WHO_LOCAL = 16,
    RPC_WHO_KEY = 32,
    RPC_WHO_DAEMON = 64, /* not for rpc.def: on the local socket, root, SlurmUser, SlurmdUser or the
                            server's own user; what a row with LOCAL alone asks for */
};
enum rpc_lane { RPC_LANE_READ, RPC_LANE_WRITE, RPC_LANE_STREAM, RPC_LANE_FOLLOW, RPC_LANE_SESSION };

struct rpc_info {
    uint16_t number;
    const char *name;
    const ProtobufCMessageDescriptor *request, *reply;
    unsigned who;
    enum rpc_lane lane;
    uint32_t body_max; /* bytes of a request */
};

const struct rpc_info *rpc_find(unsigned number); /* NULL: unknown */

/* Whether the body of a request may have so many bytes. -ERR_TOO_BIG, with the name of the RPC, the
 * size and the limit. */
int rpc_check_size(const struct rpc_info *rpc, size_t len, struct err *err);

/* The request out of its bytes, in the arena, which is begun here and for the caller to end, also
 * after a failure. factor: how many times its bytes it may take. NULL: -ERR_PROTOCOL or
 * -ERR_TOO_BIG, with the name of the RPC. */
ProtobufCMessage *rpc_unpack(const struct rpc_info *rpc, const void *bytes, size_t len,
                             size_t factor, struct arena *arena, struct err *err);
/* The same, but what is long in it may be in 'bytes' still: valid as long as both. */
ProtobufCMessage *rpc_unpack_lent(const struct rpc_info *rpc, const void *bytes, size_t len,
                                  size_t factor, struct arena *arena, struct err *err);

/* Whether a caller with these roles may call. Nothing given is nothing allowed. A row with LOCAL
 * asks for the local socket, and there for one of its other roles, or DAEMON when it has none. Rows
 * of lane SESSION ask for NODE or KEY, which only sessions have; the other rows are never for
 * sessions.
 */
bool rpc_allowed(const struct rpc_info *rpc, unsigned roles);

/* Whether this process encrypts its connections over TCP, and as a server refuses those that are
 * not; yes, unless slurm.conf says TLSType=none. A server that does not encrypt takes both kinds.
 * For the process as a whole, and connections that begin afterwards. */
void rpc_set_encryption(bool on);
bool rpc_encryption(void);
/* Sets when idle TCP connections that this process makes or accepts from now on are probed: after
 * idle_sec, then every every_sec, and closed after 'probes' without an answer. 0 keeps the value;
 * without a call they are 60, 15 and 4. */
void rpc_set_keepalive(uint32_t idle_sec, uint32_t every_sec, uint32_t probes);

/* How long each address is tried for a TCP connection, within the time that the call has; 0, and
 * without a call: for all of that time. For the process as a whole. */
void rpc_set_connect_timeout(int64_t ms);

/* Limits, all of them (tests at limit-1, limit, limit+1). */
#define RPC_BODY_MAX_ANON 1024u   /* before anything was proved: the handshake of a session */
#define RPC_BODY_MAX (16u << 20)  /* of any message between hosts; of a request, see rpc.def */
#define RPC_HELD_MAX (256u << 20) /* bytes of frames that are not complete yet, of all callers; */
#define RPC_HELD_PER_PEER                                                                          \
    (64u << 20)                     /* of one of them, and never more than are left for others     \
                                     */
#define RPC_ARENA_FACTOR 16         /* an unpacked message may take this many times its bytes: an */
#define RPC_ARENA_EXTRA (64u << 10) /* empty string takes 12 times its two; and these */
#define RPC_ARENA_LARGE (4u << 20)  /* a large one takes twice its bytes and these at most */
#define RPC_NODE_FACTOR 64  /* of a daemon that knows the cluster's key: all it has to tell */
#define RPC_REPLY_FACTOR 24 /* of a reply: an allocation of many nodes packs tightly, */
#define RPC_REPLY_EXTRA (8u << 20) /* and so does a slice of a listing that asks for few fields */
#define RPC_READ_TIMEOUT_MS                                                                        \
    10000 /* from the first byte of a frame to its last; slow senders are cut */
#define RPC_BEARER_CHECK_SEC 60     /* between checks of the user of an open call */
#define RPC_IDLE_TIMEOUT_MS 60000   /* of a TCP connection with no call open; not of sessions */
#define RPC_STALL_TIMEOUT_MS 300000 /* a caller that takes no byte of its reply; */
#define RPC_STALL_PRESSED_MS 10000  /* when all replies together hold more than */
#define RPC_STALL_PRESSED (64u << 20)
#define RPC_UNREAD_EACH (17u << 20) /* bytes of replies that wait on one connection; and */
#define RPC_UNREAD_MAX (32u << 20)  /* bytes of one user's replies then; more are refused */
#define RPC_CALLS_PER_CONNECTION 64 /* open at a time */

/* Connections. Three kinds that take no room from each other: of strangers over TCP, until a token
 * or a session proves who they are; of users; and sessions, whose callers know the key and are not
 * limited. All are less where descriptors are few (quota.c). */
#define RPC_STRANGERS_MAX 8192        /* beyond this the oldest of the busiest address goes */
#define RPC_STRANGER_TIMEOUT_MS 10000 /* to prove who it is */
#define RPC_CONNECTIONS_MAX 16384     /* of all users, */
#define RPC_CONNECTIONS_PER_PEER                                                                   \
    4096                             /* of one of them, and never more than are left for others    \
                                      */
#define RPC_CONNECTIONS_RESERVED 512 /* more, for root and the daemons' users */
#define RPC_MINT_MAX 10000           /* tokens in one reply */
