/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection on the event loop that splits its input into frames. Private to src/rpc. Server,
 * sessions and asynchronous calls are built on it. The connection knows lengths and deadlines, and
 * nothing about identities.
 *
 * Output queued during one turn of the loop is written with one system call. An idle connection
 * has no buffer; all connections of an owner keep one spare buffer for half a second. Every
 * function here, rpc_conn_free() too, may be called from every callback.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"
#include "rpc/frame.h"
#include "rpc/http.h"
#include "rpc/net.h"

struct auth_jwt;
struct auth_noise_key;
struct rpc_channel_keys;

/* State shared by the connections of one owner. */
struct rpc_io;
struct rpc_io *rpc_io_new(struct loop *l);
void rpc_io_free(struct rpc_io *io); /* the owner frees all connections first */
struct loop *rpc_io_loop(struct rpc_io *io);
size_t rpc_io_queued(const struct rpc_io *io); /* total bytes of all output queues */

struct rpc_conn;

/* The connections whose incomplete frames are accounted together. */
struct rpc_share {
    size_t held;
};

struct rpc_conn_ops {
    /* Header and token have been read, the body has not. A negative value refuses the frame. May
       be NULL. */
    int (*on_head)(void *owner, const struct rpc_frame *f, struct err *err);
    /* The encrypted channel is open, no frame has been read yet, and the caller has proved a JSON
     * Web Token; signed_part is its signed part. A negative value refuses the caller. The callback
     * must not free the connection. May be NULL. */
    int (*on_jwt)(void *owner, const void *signed_part, size_t len, struct err *err);
    /* A complete frame, valid until the callback returns. A negative value refuses the frame. */
    int (*on_frame)(void *owner, const struct rpc_frame *f, struct err *err);
    /* A frame was refused by one of the callbacks above or because it is malformed (f NULL: its
     * header is invalid). The connection reads no further frames. The owner answers and calls
     * rpc_conn_finish(), or frees the connection. */
    void (*on_refused)(void *owner, const struct rpc_frame *f, const struct err *err);
    /* Output was written and the backlog is at most RPC_SESSION_LOW. May be NULL. */
    void (*on_drained)(void *owner);
    /* The peer has shut down its sending side, and all of its complete frames have been delivered.
     * True keeps the connection open for outstanding replies; the owner then calls
     * rpc_conn_finish() after the last reply. False, or a NULL callback, closes the connection. */
    bool (*on_ended)(void *owner);
    /* An HTTP request instead of a frame, after rpc_conn_take_http(); status is the result of
     * rpc_http_parse(). The connection reads nothing further. The owner answers and calls
     * rpc_conn_finish(). May be NULL. */
    void (*on_http)(void *owner, struct rpc_http *request, int status);
    /* The connection is closed: by the peer (-ERR_CLOSED), by a deadline (-ERR_TIMEOUT), by an
     * error, or because rpc_conn_finish() is complete (code 0). The owner frees the connection. */
    void (*on_closed)(void *owner, const struct err *why);
};

/* Takes ownership of the descriptor, which is non-blocking. */
struct rpc_conn *rpc_conn_new(struct rpc_io *io, int fd, uint32_t body_max,
                              const struct rpc_conn_ops *ops, void *owner);
void rpc_conn_free(struct rpc_conn *c);
/* Returns the descriptor to the caller, who must then free the connection. Not valid for an
 * encrypted channel or with queued output. */
int rpc_conn_release(struct rpc_conn *c);

/* For TCP, before any byte is sent or read (channel.h).

   rpc_conn_call(), calling side: if this process encrypts, begins an encrypted channel and sends
   nothing else until the peer has proved that it knows the key. A peer without that proof is
   reported with on_refused() and no frame. With a token (jwt not NULL) the connection is always
   encrypted.

   rpc_conn_accept(), accepting side: the first bytes decide which form is used; the keys are
   borrowed until then. */
void rpc_conn_call(struct rpc_conn *c, const struct auth_noise_key *k, const struct auth_jwt *jwt);
void rpc_conn_accept(struct rpc_conn *c, const struct rpc_channel_keys *keys);

/* Accepts an HTTP request instead of the first frame; not in an encrypted channel. */
void rpc_conn_take_http(struct rpc_conn *c);

/* Changes the owner, for example when a plain connection becomes a session. */
void rpc_conn_give(struct rpc_conn *c, uint32_t body_max, const struct rpc_conn_ops *ops,
                   void *owner);

/* Accounts the memory that the connection holds to this share, within RPC_HELD_PER_PEER and
 * RPC_HELD_MAX. NULL, the initial state, accounts it to none. The share must outlive the
 * connection or the next call of this function. */
void rpc_conn_share(struct rpc_conn *c, struct rpc_share *share);

void rpc_conn_send(struct rpc_conn *c, const struct rpc_header *h, const void *token,
                   const void *body);
/* Like rpc_conn_send(), in two steps. The first returns space for the body inside the output
 * queue, or NULL when nothing can be sent any longer. The caller fills the space; the second step
 * adds header and token. Both steps get the same lengths. */
uint8_t *rpc_conn_room(struct rpc_conn *c, size_t token_len, size_t body_len);
void rpc_conn_filled(struct rpc_conn *c, const struct rpc_header *h, const void *token);
/* Raw bytes that are not a frame. */
void rpc_conn_send_bytes(struct rpc_conn *c, const void *data, size_t len);
size_t rpc_conn_backlog(const struct rpc_conn *c);
size_t
/* Queued bytes, and bytes in the kernel that the other host has not acknowledged. */
rpc_conn_unread(const struct rpc_conn *c);
/* Whether such bytes exist and the other host has acknowledged none of them for ms
   milliseconds. */
bool rpc_conn_is_stuck(const struct rpc_conn *c, int64_t ms);

/* Whether no frame is partly read, no input is waiting to be read, and no output is queued. */
bool rpc_conn_is_quiet(const struct rpc_conn *c);

/* Whether the peer has shut down its sending side. The frame read last, or input still unread, is
   then the rest. */
bool rpc_conn_has_ended(const struct rpc_conn *c);
/* Whether frames travel in records of an open channel (channel.h), which authenticates them. */
bool rpc_conn_is_encrypted(const struct rpc_conn *c);

/* Stops reading, writes the queued output, shuts down the sending side, waits for a short time
 * until the peer has read the output, and reports on_closed. */
void rpc_conn_finish(struct rpc_conn *c);

void rpc_conn_pause(struct rpc_conn *c, bool paused); /* stop reading until resumed */

/* Calls on_closed(-ERR_TIMEOUT) after this time unless it is set again; negative: never.
 * Granularity: up to 500 ms early. */
void rpc_conn_expire(struct rpc_conn *c, int64_t after_ms);

/* Whether stalled output may wait without limit (default: no). If so, rpc_conn_finish() also waits
 * until the other host has acknowledged all queued output. */
void rpc_conn_may_stall(struct rpc_conn *c, bool may);
