/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The run-time table of RPCs (rpc.def), and the roles of callers.
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
    /* Not for rpc.def: root, SlurmUser, SlurmdUser or the server's own user on the local socket. A
       row with LOCAL alone requires this role. */
    RPC_WHO_DAEMON = 64,
};
enum rpc_lane { RPC_LANE_READ, RPC_LANE_WRITE, RPC_LANE_STREAM, RPC_LANE_FOLLOW, RPC_LANE_SESSION };

struct rpc_info {
    uint16_t number;
    const char *name;
    const ProtobufCMessageDescriptor *request, *reply;
    unsigned who;
    enum rpc_lane lane;
    uint32_t body_max; /* maximum bytes of a request */
};

const struct rpc_info *rpc_find(unsigned number); /* NULL: unknown */

/* Checks whether the body of a request may have len bytes. Returns -ERR_TOO_BIG with the name of
 * the RPC, the size and the limit. */
int rpc_check_size(const struct rpc_info *rpc, size_t len, struct err *err);

/* Unpacks a request into the arena. The arena is initialised here, and the caller frees it, also
 * after a failure. factor limits the arena to that multiple of the packed size. Returns NULL on
 * -ERR_PROTOCOL or -ERR_TOO_BIG, with the name of the RPC. */
ProtobufCMessage *rpc_unpack(const struct rpc_info *rpc, const void *bytes, size_t len,
                             size_t factor, struct arena *arena, struct err *err);
/* Like rpc_unpack(), but long fields may point into 'bytes', so the message is valid only as long
   as both 'bytes' and the arena. */
ProtobufCMessage *rpc_unpack_lent(const struct rpc_info *rpc, const void *bytes, size_t len,
                                  size_t factor, struct arena *arena, struct err *err);

/* Whether a caller with these roles may call. No role means no access. A row with LOCAL requires
   the local socket and one of the row's other roles, or DAEMON if it has none. Rows of lane
   SESSION require NODE or KEY, which only sessions have; other rows are never allowed in
   sessions. */
bool rpc_allowed(const struct rpc_info *rpc, unsigned roles);

/* Sets whether this process encrypts its TCP connections and, as a server, refuses unencrypted
 * ones. The default is yes; TLSType=none in slurm.conf turns it off. A server without encryption
 * accepts both kinds. Applies to the whole process and to later connections. */
void rpc_set_encryption(bool on);
bool rpc_encryption(void);
/* Sets the keep-alive probes of TCP connections that this process makes or accepts later: the
 * first after idle_sec, then every every_sec, and the connection is closed after 'probes'
 * unanswered ones. 0 keeps the value. Defaults: 60 s, 15 s and 4. */
void rpc_set_keepalive(uint32_t idle_sec, uint32_t every_sec, uint32_t probes);

/* Sets how long each address is tried for a TCP connection, within the time limit of the call. 0,
 * the default: the whole of that limit. Applies to the whole process. */
void rpc_set_connect_timeout(int64_t ms);

/* All limits. Tests use limit-1, limit and limit+1. */
/* Before the peer has proved anything: the handshake of a session. */
#define RPC_BODY_MAX_ANON 1024u
#define RPC_BODY_MAX (16u << 20)  /* of any message between hosts; for requests, see rpc.def */
#define RPC_HELD_MAX (256u << 20) /* bytes of incomplete frames of all callers */
#define RPC_HELD_PER_PEER                                                                          \
    (64u << 20) /* of one caller, and never more than is left for the others */
/* Limit of an unpacked message, as a multiple of its packed size. */
#define RPC_ARENA_FACTOR 16
/* Added to that limit; an empty string takes 12 times its two bytes. */
#define RPC_ARENA_EXTRA (64u << 10)
/* A large message may take twice its packed size plus these bytes. */
#define RPC_ARENA_LARGE (4u << 20)
#define RPC_NODE_FACTOR 64 /* messages from a daemon that knows the cluster key */
/* Replies: an allocation of many nodes, or a slice of a listing with few fields, unpacks to many
   times its packed size. */
#define RPC_REPLY_FACTOR 24
#define RPC_REPLY_EXTRA (8u << 20)
#define RPC_READ_TIMEOUT_MS                                                                        \
    10000 /* from the first byte of a frame to its last; slow senders are cut */
#define RPC_BEARER_CHECK_SEC 60     /* between checks of the user of an open call */
#define RPC_IDLE_TIMEOUT_MS 60000   /* of a TCP connection with no call open; not of sessions */
#define RPC_STALL_TIMEOUT_MS 300000 /* a caller that takes no byte of its reply; */
#define RPC_STALL_PRESSED_MS 10000  /* the same when all replies hold more than */
#define RPC_STALL_PRESSED (64u << 20)
#define RPC_UNREAD_EACH (17u << 20) /* unread bytes of replies on one connection, */
#define RPC_UNREAD_MAX (32u << 20)  /* and of one user's replies then; more are refused */
#define RPC_CALLS_PER_CONNECTION 64 /* open at a time */

/* Limits of connections. Three kinds are limited separately: TCP connections of strangers, which
 * have not yet been authenticated by a token or a session; connections of users; and sessions,
 * whose peers know the key and whose number is not limited. The limits are lower if the process may
 * open few descriptors (quota.c). */
#define RPC_STRANGERS_MAX 8192        /* then the oldest of the busiest address closes */
#define RPC_STRANGER_TIMEOUT_MS 10000 /* to authenticate */
#define RPC_CONNECTIONS_MAX 16384     /* of all users */
#define RPC_CONNECTIONS_PER_PEER                                                                   \
    4096                             /* of one user, and never more than are left for others       \
                                      */
#define RPC_CONNECTIONS_RESERVED 512 /* additional, for root and the daemons' users */
#define RPC_MINT_MAX 10000           /* tokens in one reply */
