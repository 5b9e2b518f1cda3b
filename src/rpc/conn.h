/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection on the loop, cut into frames; inside this room. Server, sessions and asynchronous
 * calls stand on it. It knows lengths and deadlines, and nothing about identity.
 *
 * What is queued in one turn goes out with one write. An idle connection keeps no buffer, and all
 * connections of an owner keep one for half a second. Every function here may be called from every
 * callback, rpc_conn_free() included.
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

/* What the connections of one owner share. */
struct rpc_io;
struct rpc_io *rpc_io_new(struct loop *l);
void rpc_io_free(struct rpc_io *io); /* its connections are freed by then */
struct loop *rpc_io_loop(struct rpc_io *io);
size_t rpc_io_queued(const struct rpc_io *io); /* bytes of all outputs */

struct rpc_conn;

/* Whose incomplete frames are counted together. */
struct rpc_share {
    size_t held;
};

struct rpc_conn_ops {
    /* Header and token are here, the body is not: worth reading? Negative refuses. May be NULL. */
    int (*on_head)(void *owner, const struct rpc_frame *f, struct err *err);
    /* The caller has proved a JSON Web Token, of which this is what is signed: the channel is open,
     * and no frame was read yet. Negative refuses. Does not free. May be NULL. */
    int (*on_jwt)(void *owner, const void *signed_part, size_t len, struct err *err);
    /* A complete frame, valid until it returns. Negative refuses. */
    int (*on_frame)(void *owner, const struct rpc_frame *f, struct err *err);
    /* A frame was refused, by the above or for its form (f NULL: not even its header makes sense).
     * Nothing more is read; the owner answers and calls rpc_conn_finish(), or frees. */
    void (*on_refused)(void *owner, const struct rpc_frame *f, const struct err *err);
    /* Bytes went out and the backlog is at most RPC_SESSION_LOW. May be NULL. */
    void (*on_drained)(void *owner);
    /* The other side sends nothing more, and all of its complete frames were handed on: true keeps
     * the connection for what is still to be answered, and the owner calls rpc_conn_finish() when
     * that is done. False, or NULL: it is closed. */
    bool (*on_ended)(void *owner);
    /* In the place of frames, where rpc_conn_take_http() lets it: a request, with what
     * rpc_http_parse() says of it. Nothing more is read; the owner answers and calls
     * rpc_conn_finish(). May be NULL. */
    void (*on_http)(void *owner, struct rpc_http *request, int status);
    /* It is closed: by the other side (-ERR_CLOSED), a deadline (-ERR_TIMEOUT), an error, or
     * rpc_conn_finish() is done (code 0). The owner frees it. */
    void (*on_closed)(void *owner, const struct err *why);
};

/* Takes the descriptor, which is non-blocking. */
struct rpc_conn *rpc_conn_new(struct rpc_io *io, int fd, uint32_t body_max,
                              const struct rpc_conn_ops *ops, void *owner);
void rpc_conn_free(struct rpc_conn *c);
/* The descriptor, which is the caller's; the connection is then to be freed. Not of an encrypted
 * channel, and with nothing left to be sent. */
int rpc_conn_release(struct rpc_conn *c);

/* Over TCP, before anything is sent or read (channel.h). The calling side: begins an encrypted
 * channel where this process encrypts, and sends nothing else before the other side has proved that
 * it knows the key; one that does not is on_refused(), without a frame. With a token (NULL: none)
 * it encrypts always. The accepting side: the first bytes decide; the keys are borrowed until then.
 */
void rpc_conn_call(struct rpc_conn *c, const struct auth_noise_key *k, const struct auth_jwt *jwt);
void rpc_conn_accept(struct rpc_conn *c, const struct rpc_channel_keys *keys);

/* An HTTP request in the place of the first frame is handed on; not in an encrypted channel. */
void rpc_conn_take_http(struct rpc_conn *c);

/* Another owner (a session is born from a plain connection). */
void rpc_conn_give(struct rpc_conn *c, uint32_t body_max, const struct rpc_conn_ops *ops,
                   void *owner);
void rpc_conn_body_max(struct rpc_conn *c, uint32_t body_max);

/* What it holds counts in this share from now on, within RPC_HELD_PER_PEER and RPC_HELD_MAX; NULL,
 * as in the beginning: it is not counted. The share outlives the connection, or its turn here. */
void rpc_conn_share(struct rpc_conn *c, struct rpc_share *share);

void rpc_conn_send(struct rpc_conn *c, const struct rpc_header *h, const void *token,
                   const void *body);
/* The same in two steps: room for the body in the place that it is sent from, NULL when nothing is
 * sent any more; and, when that is filled, what goes before it. The lengths are the same. */
uint8_t *rpc_conn_room(struct rpc_conn *c, size_t token_len, size_t body_len);
void rpc_conn_filled(struct rpc_conn *c, const struct rpc_header *h, const void *token);
void rpc_conn_send_bytes(struct rpc_conn *c, const void *data, size_t len); /* not a frame */
size_t rpc_conn_backlog(const struct rpc_conn *c);
size_t
rpc_conn_unread(const struct rpc_conn *c); /* and what the kernel has, but not the other host */
/* There are such bytes, and the other host has acknowledged nothing for so long. */
bool rpc_conn_is_stuck(const struct rpc_conn *c, int64_t ms);

/* Between frames: nothing has been read in part, nothing waits to be read or to be sent. */
bool rpc_conn_is_quiet(const struct rpc_conn *c);

/* The other side sends nothing more: what was read last, or is still to be read, is the rest. */
bool rpc_conn_has_ended(const struct rpc_conn *c);
/* Its frames travel in records of an open channel (channel.h), which authenticates them. */
bool rpc_conn_is_encrypted(const struct rpc_conn *c);

/* Stops reading, writes what is queued, tells the other side, waits shortly for it to have read
 * that, and reports on_closed. */
void rpc_conn_finish(struct rpc_conn *c);

void rpc_conn_pause(struct rpc_conn *c, bool paused); /* read nothing for a while */

/* on_closed(-ERR_TIMEOUT) after so many milliseconds unless set again; negative: never. Coarse: up
 * to half a second early. */
void rpc_conn_expire(struct rpc_conn *c, int64_t after_ms);

/* Whether output that does not move may wait for ever (default: no). What is queued then is worth
 * waiting for in rpc_conn_finish() too, until the other host has all of it. */
void rpc_conn_may_stall(struct rpc_conn *c, bool may);
