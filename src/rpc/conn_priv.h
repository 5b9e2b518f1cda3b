/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The structures of a connection, shared by conn.c, conn_read.c and conn_sweep.c only.
 *
 * A callback of the owner may free the connection. Code that calls one therefore checks 'dead' and
 * 'fd' afterwards, or runs between rpc_conn_enter() and rpc_conn_leave().
 */
#pragma once

#include "rpc/channel.h"
#include "rpc/conn.h"

#define SCRATCH_SIZE (64u << 10)
#define LINGER_MS 2000       /* time for the peer to read why it was refused */
#define LINGER_LONG_MS 60000 /* the same when the output must not be lost */

struct rpc_io {
    struct loop *loop;
    /* The buffer that all connections read into and encrypt records in; only incomplete input is
     * copied elsewhere. Input in it is processed completely before output is sent. */
    uint8_t *scratch;
    struct loop_timer *flush_timer, *sweep_timer;
    /* Connections with output or held-back input; each is served once per turn. */
    struct rpc_conn *pending;
    struct rpc_conn *timed;  /* connections with a deadline */
    struct rpc_conn *cursor; /* the next connection of a running sweep */
    bool flush_armed, sweep_armed;
    struct str spare;    /* an empty output buffer to reuse; freed by the next sweep */
    unsigned refs;       /* references by the owner, the connections, and running functions */
    size_t held, queued; /* bytes of all incomplete frames in shares; bytes of all output queues */
};

/* The encoding of a connection's bytes. */
enum rpc_conn_form {
    FORM_PLAIN,    /* frames */
    FORM_CALLED,   /* waiting for the reply to our hello; output waits, too */
    FORM_ACCEPTED, /* waiting for the peer's first bytes; output is plain frames */
    FORM_RECORDS,
};

struct rpc_conn {
    struct rpc_io *io;
    struct loop_fd *watch;
    int fd;
    unsigned events;
    const struct rpc_conn_ops *ops;
    void *owner;
    uint32_t body_max;

    enum rpc_conn_form form;
    struct rpc_channel *channel;
    const struct rpc_channel_keys *accept_keys; /* FORM_ACCEPTED */
    struct str records; /* an incomplete record, or input before the first record */

    struct str in; /* an incomplete frame, empty between frames */
    struct rpc_share *share;
    size_t held; /* bytes of 'in' and 'records' that are accounted to share and io */
    struct rpc_header header;
    bool header_ok, token_ok;
    bool takes_http; /* no frame has been received yet, and an HTTP request is accepted instead */
    /* loop_mono_ms() times; 0: none */
    int64_t frame_deadline, expire_at, stalled_since, linger_until;

    struct str out;
    size_t out_pos;
    /* Records and the channel's hello or reply; written before other output. */
    struct str sealed_out;
    size_t sealed_pos;

    bool dead;      /* freed by its owner while 'busy' */
    bool refused;   /* accepts no further frames */
    bool finishing; /* writes the rest of its output, then lingers */
    /* The peer has shut down its sending side, and was not gone at the last check. */
    bool ended;
    bool shut; /* our sending side is shut down; lingers */
    bool paused, is_pending, is_timed, may_stall;
    unsigned busy;                            /* number of functions that use it at the moment */
    struct rpc_conn *prev, *next;             /* in io->pending */
    struct rpc_conn *timed_prev, *timed_next; /* in io->timed */
};

/* conn.c */
void rpc_io_unref(struct rpc_io *io);
static inline void rpc_conn_enter(struct rpc_conn *c)
{
    c->busy++;
}
bool rpc_conn_leave(struct rpc_conn *c); /* false: it was freed */
void rpc_conn_set_events(struct rpc_conn *c);
/* Reports the end of the connection to the owner, which frees the connection. */
void rpc_conn_report_closed(struct rpc_conn *c, int code, const char *text);
/* Whether the peer has closed both directions. A local peer's close is visible at once; a TCP
 * peer's when its host answers a probe or our bytes with a reset. */
bool rpc_conn_hung_up(const struct rpc_conn *c);

/* The channel is open: further output is sent in records, after a reply of len bytes. */
void rpc_conn_set_records(struct rpc_conn *c, const uint8_t *reply, size_t len);

/* conn_read.c: splits input into frames. */
static inline bool rpc_conn_takes_frames(const struct rpc_conn *c)
{
    return !c->dead && !c->refused && !c->finishing && !c->paused && c->fd >= 0;
}
void rpc_conn_read(struct rpc_conn *c); /* reads from the descriptor, which is ready */
/* Processes input that was held back during a pause. */
void rpc_conn_read_held(struct rpc_conn *c);
/* Drops the partly read frame, which will not be completed. */
void rpc_conn_read_drop(struct rpc_conn *c);

/* conn_sweep.c: a connection is on the list of timed connections while it has a deadline. */
void rpc_conn_sweep_add(struct rpc_conn *c);
void rpc_conn_sweep_arm(struct rpc_io *io);
void rpc_conn_sweep_remove(struct rpc_conn *c);
void rpc_conn_sweep(void *io); /* timer callback */
