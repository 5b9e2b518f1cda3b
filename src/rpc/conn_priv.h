/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection's own structures, shared by conn.c, conn_read.c and conn_sweep.c; for nobody else.
 *
 * A callback of the owner may free the connection: whoever calls one looks at 'dead' and 'fd'
 * before it goes on, or stands between rpc_conn_enter() and rpc_conn_leave().
 */
#pragma once

#include "rpc/channel.h"
#include "rpc/conn.h"

#define SCRATCH_SIZE (64u << 10)
#define LINGER_MS 2000       /* for the other side to read why it was refused, */
#define LINGER_LONG_MS 60000 /* or what must not be lost */

struct rpc_io {
    struct loop *loop;
    /* Everybody reads into this, and seals records in it; only what is incomplete is kept
     * elsewhere. What was read is done with before anything is sent. */
    uint8_t *scratch;
    struct loop_timer *flush_timer, *sweep_timer;
    struct rpc_conn *pending; /* have output, or input that was held back; served once per turn */
    struct rpc_conn *timed;   /* have some deadline */
    struct rpc_conn *cursor;  /* the next one of a sweep */
    bool flush_armed, sweep_armed;
    struct str spare;    /* an empty output buffer to reuse; freed by the next sweep */
    unsigned refs;       /* its owner, its connections, and the functions at work on it */
    size_t held, queued; /* bytes of all incomplete frames in shares; of all outputs */
};

/* What the bytes of a connection are. */
enum rpc_conn_form {
    FORM_PLAIN,    /* frames */
    FORM_CALLED,   /* the other side's answer to our hello is awaited; output waits, too */
    FORM_ACCEPTED, /* the other side's first bytes are awaited; output is frames */
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
    struct str records; /* an incomplete record, or what comes before records */

    struct str in; /* an incomplete frame, empty between frames */
    struct rpc_share *share;
    size_t held; /* of 'in' and 'records', as counted in share and io */
    struct rpc_header header;
    bool header_ok, token_ok;
    bool takes_http; /* no frame has come yet, and an HTTP request may come instead */
    int64_t frame_deadline, expire_at, stalled_since, linger_until; /* mono ms; 0: none */

    struct str out;
    size_t out_pos;
    struct str sealed_out; /* records, and what comes before them; goes first */
    size_t sealed_pos;

    bool dead;      /* freed by its owner while 'busy' */
    bool refused;   /* takes no more frames */
    bool finishing; /* writes, then lingers */
    bool ended;     /* the other side sends nothing more, and was not gone when last looked */
    bool shut;      /* lingers */
    bool paused, is_pending, is_timed, may_stall;
    unsigned busy;                            /* functions at work on it */
    struct rpc_conn *prev, *next;             /* in io->pending */
    struct rpc_conn *timed_prev, *timed_next; /* in io->timed */
};

/* conn.c */
void rpc_io_unref(struct rpc_io *io);
static inline void rpc_conn_enter(struct rpc_conn *c)
{
    c->busy++;
}
bool rpc_conn_leave(struct rpc_conn *c); /* false: it is gone */
void rpc_conn_set_events(struct rpc_conn *c);
/* The last word about a connection; the owner frees it. */
void rpc_conn_report_closed(struct rpc_conn *c, int code, const char *text);
/* Whether the other side has closed altogether: a local one shows it at once, one over TCP when it
 * answers a probe or our bytes with a reset. */
bool rpc_conn_hung_up(const struct rpc_conn *c);

/* The channel is open: what is sent next is records, behind a reply of so many bytes. */
void rpc_conn_set_records(struct rpc_conn *c, const uint8_t *reply, size_t len);

/* conn_read.c: bytes become frames. */
static inline bool rpc_conn_takes_frames(const struct rpc_conn *c)
{
    return !c->dead && !c->refused && !c->finishing && !c->paused && c->fd >= 0;
}
void rpc_conn_read(struct rpc_conn *c);      /* from the descriptor, which is ready */
void rpc_conn_read_held(struct rpc_conn *c); /* what came before a pause, which is over */
/* What was read of a frame that will not become complete. */
void rpc_conn_read_drop(struct rpc_conn *c);

/* conn_sweep.c: a connection with a deadline is on its list until it has none. */
void rpc_conn_sweep_add(struct rpc_conn *c);
void rpc_conn_sweep_arm(struct rpc_io *io);
void rpc_conn_sweep_remove(struct rpc_conn *c);
void rpc_conn_sweep(void *io); /* on its timer */
