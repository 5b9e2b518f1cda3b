/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kept sessions: both ends have proved that they know a key, and each frame carries a MAC under a
 * key made fresh from both sides' random numbers, over direction, sequence, header and body.
 * Messages go both ways and have no replies; what must not be lost is acknowledged by the protocol
 * above. Used between node daemon and controller (cluster key) and between step shepherd and srun
 * (the launch's I/O key).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "auth/auth.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

struct rpc_session;

struct rpc_session_events {
    unsigned accepts; /* connecting side: the rows it takes, RPC_WHO_NODE or RPC_WHO_KEY; 0 is NODE.
                         The accepting side takes NODE rows, with refuse_plain KEY rows. */
    void (*on_open)(void *ctx, struct rpc_session *s); /* connecting side: it is up (again) */
    void (*on_message)(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body);
    void (*on_drained)(void *ctx,
                       struct rpc_session *s); /* the backlog has fallen below RPC_SESSION_LOW */
    void (*on_close)(
        void *ctx, struct rpc_session *s,
        const struct err *why); /* accepted side: s is freed after it;
        connecting side: it reconnects by itself when 'retry' is set, and attempts that
        fail are told here too, the same reason once. s may be freed in any of these. */
    void *ctx;
};

#define RPC_SESSION_HIGH (1u << 20) /* a sender should stop adding above this backlog */
#define RPC_SESSION_LOW (256u << 10)
#define RPC_SESSION_RETRY_MIN_MS 50 /* pause between attempts, doubled up to the maximum */
#define RPC_SESSION_RETRY_MAX_MS 2000

/* "@sluice-" and 32 hexadecimal digits: an abstract UNIX socket, which every process in the network
 * namespace of its maker can connect to, and no other. See rpc_server_listen_abstract(). */
#define RPC_ABSTRACT_SIZE 41
bool rpc_is_abstract(const char *name);

struct rpc_target {
    const char *addr; /* copied; may be abstract: then the port is not used, and only a socket of
                         'owner' or of root is connected to, which is not encrypted */
    uint16_t port;
    uid_t owner; /* whose socket the kernel takes it for, when root connects on behalf of a user; 0:
                    the process's own */
};

/* Connects to the first target that accepts; with 'retry' for ever. my_name tells the other side
 * who calls. */
struct rpc_session *rpc_session_connect(struct loop *l, const struct auth_key *key,
                                        const char *my_name, const struct rpc_target *targets,
                                        size_t count, bool retry,
                                        const struct rpc_session_events *events);
/* Connecting side: leaves whom it is connected to or trying, with on_close when it was open, and
 * begins again with that target. */
void rpc_session_redial(struct rpc_session *s, size_t target);
/* Connecting side: which target it is connected to; SIZE_MAX: none of the present ones. */
size_t rpc_session_target(const struct rpc_session *s);
/* Connecting side: other targets from the next attempt on; the connection that is open stays. */
void rpc_session_set_targets(struct rpc_session *s, const struct rpc_target *targets, size_t count);

/* Connecting side: 'accepts' stays as it was. */
void rpc_session_set_events(struct rpc_session *s, const struct rpc_session_events *events);
void rpc_session_free(struct rpc_session *s); /* closes; unsent bytes are lost */

/* Sends what is queued, waits without limit until the other host has it, then closes and calls
 * on_close. */
void rpc_session_finish(struct rpc_session *s);

/* Queues a message; without a connection it is dropped (the protocol above repeats), and so is one
 * of more than RPC_BODY_MAX bytes, which no peer would take. */
void rpc_session_send(struct rpc_session *s, enum rpc_number rpc, const ProtobufCMessage *body);
/* Large messages get the fast MAC from now on, until this connection is over: the other side is
 * known to understand it. */
void rpc_session_send_bulk(struct rpc_session *s);
bool rpc_session_is_open(const struct rpc_session *s);
/* The other side has closed it already, though on_close is still to come: what it said before can
 * be too old to be obeyed. */
bool rpc_session_has_ended(const struct rpc_session *s);
size_t rpc_session_backlog(const struct rpc_session *s);
/* Bytes that are on their way: queued here or in the kernel, and not yet with the other host. */
size_t rpc_session_unread(const struct rpc_session *s);
/* There are such, and the other host has acknowledged nothing for so long: it, the road or an
 * address has gone. */
bool rpc_session_is_stuck(const struct rpc_session *s, int64_t ms);
void rpc_session_pause(struct rpc_session *s, bool paused); /* stop reading: back-pressure */
const char *rpc_session_peer(const struct rpc_session *s);  /* "node3 (10.0.0.1:4711)" */
