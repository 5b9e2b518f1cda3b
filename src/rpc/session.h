/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Long-lived sessions. Both ends have proved that they know a key, and each frame has a MAC over
 * direction, sequence, header and body under a key derived from random numbers of both sides.
 * Messages go both ways and have no replies; the protocol above acknowledges messages that must
 * not be lost. Used between node daemon and controller (cluster key) and between step shepherd and
 * srun (the launch's I/O key).
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
    /* Connecting side: the rows that it accepts, RPC_WHO_NODE or RPC_WHO_KEY; 0 means NODE. The
       accepting side accepts NODE rows, or KEY rows with refuse_plain. */
    unsigned accepts;
    /* Connecting side: the session is open, also after a reconnect. */
    void (*on_open)(void *ctx, struct rpc_session *s);
    void (*on_message)(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body);
    void (*on_drained)(void *ctx,
                       struct rpc_session *s); /* the backlog has fallen below RPC_SESSION_LOW */
    /* Accepted side: s is freed afterwards. Connecting side: s reconnects by itself when 'retry'
       is set; failed attempts are reported here, too, but the same reason only once. s may be
       freed in any of these callbacks. */
    void (*on_close)(void *ctx, struct rpc_session *s, const struct err *why);
    void *ctx;
};

#define RPC_SESSION_HIGH (1u << 20) /* a sender should stop adding messages above this backlog */
#define RPC_SESSION_LOW (256u << 10)
/* Pause between attempts; doubled each time up to the maximum. */
#define RPC_SESSION_RETRY_MIN_MS 50
#define RPC_SESSION_RETRY_MAX_MS 2000

/* "@sluice-" and 32 hexadecimal digits: an abstract UNIX socket, which only processes in the
 * network namespace of its creator can connect to. See rpc_server_listen_abstract(). */
#define RPC_ABSTRACT_SIZE 41
bool rpc_is_abstract(const char *name);

struct rpc_target {
    /* Copied. May be abstract: then the port is ignored, the socket must belong to 'owner' or
       root, and the session is not encrypted. */
    const char *addr;
    uint16_t port;
    /* The user whose socket the kernel sees when root connects on behalf of a user; 0: the
       process's own. */
    uid_t owner;
};

/* Connects to the first target that accepts, repeatedly without limit if 'retry' is set. my_name
 * identifies the caller to the other side. */
struct rpc_session *rpc_session_connect(struct loop *l, const struct auth_key *key,
                                        const char *my_name, const struct rpc_target *targets,
                                        size_t count, bool retry,
                                        const struct rpc_session_events *events);
/* Connecting side: drops the current connection or attempt, with on_close if it was open, and
 * starts again with that target. */
void rpc_session_redial(struct rpc_session *s, size_t target);
/* Connecting side: returns the index of the connected target; SIZE_MAX: none of the current
   targets. */
size_t rpc_session_target(const struct rpc_session *s);
/* Connecting side: replaces the targets for later attempts; an open connection stays open. */
void rpc_session_set_targets(struct rpc_session *s, const struct rpc_target *targets, size_t count);

/* Connecting side: 'accepts' does not change. */
void rpc_session_set_events(struct rpc_session *s, const struct rpc_session_events *events);
void rpc_session_free(struct rpc_session *s); /* closes; unsent bytes are lost */

/* Sends the queued messages, waits without limit until the other host has acknowledged them, then
 * closes and calls on_close. */
void rpc_session_finish(struct rpc_session *s);

/* Queues a message. The message is dropped if there is no connection (the protocol above repeats
 * it) or if it is longer than RPC_BODY_MAX bytes, which no peer accepts. */
void rpc_session_send(struct rpc_session *s, enum rpc_number rpc, const ProtobufCMessage *body);
/* Uses the fast MAC for large messages from now on, until this connection ends. The other side is
 * known to support it. */
void rpc_session_send_bulk(struct rpc_session *s);
bool rpc_session_is_open(const struct rpc_session *s);
/* Whether the other side has already closed the session, although on_close is still to come.
 * Messages received before may be too old to act on. */
bool rpc_session_has_ended(const struct rpc_session *s);
size_t rpc_session_backlog(const struct rpc_session *s);
/* Returns the bytes in transit: queued here or in the kernel, and not acknowledged by the other
   host. */
size_t rpc_session_unread(const struct rpc_session *s);
/* Whether such bytes exist and the other host has acknowledged none of them for ms milliseconds:
 * the host, the network path or an address is gone. */
bool rpc_session_is_stuck(const struct rpc_session *s, int64_t ms);
void rpc_session_pause(struct rpc_session *s, bool paused); /* stop reading: back-pressure */
const char *rpc_session_peer(const struct rpc_session *s);  /* "node3 (10.0.0.1:4711)" */
