/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/conn.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utlist.h>

#include "base/mem.h"
#include "rpc/rpc.h"
#include "rpc/session.h"

#define SCRATCH_SIZE (64u << 10)
#define READS_PER_EVENT 4 /* then the others have their turn */
#define SWEEP_MS 500
#define LINGER_MS 2000       /* for the other side to read why it was refused, */
#define LINGER_LONG_MS 60000 /* or what must not be lost */
#define OUT_KEEP (16u << 10) /* an empty output buffer up to this size is kept */

struct rpc_io {
    struct loop *loop;
    uint8_t *scratch; /* everybody reads into this; only incomplete frames are kept elsewhere */
    struct loop_timer *flush_timer, *sweep_timer;
    struct rpc_conn *pending; /* have output, or input that was held back; served once per turn */
    struct rpc_conn *timed;   /* have some deadline */
    struct rpc_conn *cursor;  /* the next one of a sweep */
    bool flush_armed, sweep_armed;
    unsigned refs;       /* its owner, its connections, and the functions at work on it */
    size_t held, queued; /* bytes of all incomplete frames in shares; of all outputs */
};

struct rpc_conn {
    struct rpc_io *io;
    struct loop_fd *watch;
    int fd;
    unsigned events;
    const struct rpc_conn_ops *ops;
    void *owner;
    uint32_t body_max;

    struct str in; /* an incomplete frame, empty between frames */
    struct rpc_share *share;
    size_t held; /* of 'in', as counted in share and io */
    struct rpc_header header;
    bool header_ok, token_ok;
    int64_t frame_deadline, expire_at, stalled_since, linger_until; /* mono ms; 0: none */

    struct str out;
    size_t out_pos;

    bool dead;      /* freed by its owner while 'busy' */
    bool refused;   /* takes no more frames */
    bool finishing; /* writes, then lingers */
    bool ended;     /* the other side sends nothing more, and was not gone when last looked */
    bool shut;      /* lingers */
    bool paused, is_pending, is_timed, may_stall;
    unsigned busy;                            /* frames of this file on the stack that use it */
    struct rpc_conn *prev, *next;             /* in io->pending */
    struct rpc_conn *timed_prev, *timed_next; /* in io->timed */
};

static void on_flush(void *ctx);
static void on_sweep(void *ctx);
static void feed(struct rpc_conn *c, const uint8_t *data, size_t len);

struct rpc_io *rpc_io_new(struct loop *l)
{
    struct rpc_io *io = mem_new(struct rpc_io);

    io->loop = l;
    io->refs = 1;
    io->scratch = malloc(SCRATCH_SIZE); /* not zeroed: pages nobody reads into cost nothing */
    if (!io->scratch)
        io->scratch = mem_alloc(SCRATCH_SIZE);
    io->flush_timer = loop_timer_new(l, on_flush, io);
    io->sweep_timer = loop_timer_new(l, on_sweep, io);
    return io;
}

static void io_unref(struct rpc_io *io)
{
    if (--io->refs)
        return;
    loop_timer_free(io->flush_timer);
    loop_timer_free(io->sweep_timer);
    free(io->scratch);
    free(io);
}

void rpc_io_free(struct rpc_io *io)
{
    if (io)
        io_unref(io);
}

struct loop *rpc_io_loop(struct rpc_io *io)
{
    return io->loop;
}

static void set_pending(struct rpc_conn *c)
{
    struct rpc_io *io = c->io;

    if (c->is_pending || c->dead)
        return;
    c->is_pending = true;
    DL_APPEND(io->pending, c);
    if (!io->flush_armed) {
        io->flush_armed = true;
        loop_timer_set(io->flush_timer, 0);
    }
}

static void clear_pending(struct rpc_conn *c)
{
    if (c->is_pending)
        DL_DELETE(c->io->pending, c);
    c->is_pending = false;
}

static void set_timed(struct rpc_conn *c)
{
    struct rpc_io *io = c->io;

    if (c->is_timed || c->dead)
        return;
    c->is_timed = true;
    DL_APPEND2(io->timed, c, timed_prev, timed_next);
    if (!io->sweep_armed) {
        io->sweep_armed = true;
        loop_timer_set(io->sweep_timer, SWEEP_MS);
    }
}

static void clear_timed(struct rpc_conn *c)
{
    if (!c->is_timed)
        return;
    if (c->io->cursor == c)
        c->io->cursor = c->timed_next;
    DL_DELETE2(c->io->timed, c, timed_prev, timed_next);
    c->is_timed = false;
}

size_t rpc_conn_backlog(const struct rpc_conn *c)
{
    return c->out.len - c->out_pos;
}

size_t rpc_conn_unread(const struct rpc_conn *c)
{
    int in_kernel = 0;

    if (c->fd < 0 || ioctl(c->fd, SIOCOUTQ, &in_kernel) || in_kernel < 0)
        in_kernel = 0;
    return rpc_conn_backlog(c) + (size_t)in_kernel;
}

bool rpc_conn_is_stuck(const struct rpc_conn *c, int64_t ms)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);

    return rpc_conn_unread(c) > 0 && getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
           info.tcpi_last_ack_recv >= ms;
}

static void set_events(struct rpc_conn *c)
{
    unsigned events = 0;

    /* While lingering, reading goes on to see the other side's end. */
    if (!c->paused && !c->ended && (!c->finishing || c->shut))
        events |= LOOP_READ;
    if (rpc_conn_backlog(c) && c->stalled_since)
        events |= LOOP_WRITE;
    if (events != c->events && c->watch)
        loop_fd_events(c->watch, events);
    c->events = events;
}

static void on_ready(void *ctx, int fd, unsigned ready);

struct rpc_conn *rpc_conn_new(struct rpc_io *io, int fd, uint32_t body_max,
                              const struct rpc_conn_ops *ops, void *owner)
{
    struct rpc_conn *c = mem_new(struct rpc_conn);

    c->io = io;
    io->refs++;
    c->fd = fd;
    c->events = LOOP_READ;
    c->watch = loop_fd_new(io->loop, fd, LOOP_READ, on_ready, c);
    rpc_conn_give(c, body_max, ops, owner);
    return c;
}

void rpc_conn_give(struct rpc_conn *c, uint32_t body_max, const struct rpc_conn_ops *ops,
                   void *owner)
{
    c->body_max = body_max;
    c->ops = ops;
    c->owner = owner;
}

void rpc_conn_body_max(struct rpc_conn *c, uint32_t body_max)
{
    c->body_max = body_max;
}

static void set_held(struct rpc_conn *c, size_t bytes)
{
    if (!c->share)
        return;
    c->io->held += bytes - c->held;
    c->share->held += bytes - c->held;
    c->held = bytes;
}

void rpc_conn_share(struct rpc_conn *c, struct rpc_share *share)
{
    set_held(c, 0);
    c->share = share;
    set_held(c, c->in.len);
}

/* A share never has more than what is left for the others: so there is always something left. */
static bool holds_too_much(const struct rpc_conn *c)
{
    size_t all = c->io->held;

    return c->share && (c->share->held > RPC_HELD_PER_PEER || all > RPC_HELD_MAX ||
                        c->share->held > RPC_HELD_MAX - all);
}

static void close_fd(struct rpc_conn *c)
{
    clear_pending(c);
    clear_timed(c);
    if (c->watch)
        loop_fd_free(take_ptr(c->watch));
    if (c->fd >= 0)
        close(take_fd(&c->fd));
}

static void conn_destroy(struct rpc_conn *c)
{
    c->io->queued -= rpc_conn_backlog(c);
    str_done(&c->in);
    str_done(&c->out);
    io_unref(c->io);
    free(c);
}

void rpc_conn_free(struct rpc_conn *c)
{
    if (!c || c->dead)
        return;
    rpc_conn_share(c, NULL);
    close_fd(c);
    c->dead = true;
    if (!c->busy)
        conn_destroy(c);
}

static void enter(struct rpc_conn *c)
{
    c->busy++;
}

/* False: it is gone. */
static bool leave(struct rpc_conn *c)
{
    if (--c->busy || !c->dead)
        return !c->dead;
    conn_destroy(c);
    return false;
}

/* The last word about a connection; the owner frees it. */
static void report_closed(struct rpc_conn *c, int code, const char *text)
{
    struct err why = {0};

    if (c->dead || c->fd < 0)
        return;
    close_fd(c);
    if (code)
        err_set(&why, code, "%s", text);
    c->ops->on_closed(c->owner, &why);
}

/* Output. */

static void out_sent(struct rpc_conn *c, size_t n)
{
    c->out_pos += n;
    c->io->queued -= n;
    if (c->out_pos == c->out.len) {
        c->out_pos = 0;
        if (c->out.room > OUT_KEEP)
            str_done(&c->out);
        else
            str_clear(&c->out);
    } else if (c->out_pos > c->out.len / 2) {
        str_consume(&c->out, c->out_pos);
        c->out_pos = 0;
    }
}

/* Everything that was queued is with the kernel: say so to the other side, and wait for its end. */
static void start_linger(struct rpc_conn *c)
{
    c->shut = true;
    c->linger_until = loop_mono_ms() + (c->may_stall ? LINGER_LONG_MS : LINGER_MS);
    set_timed(c);
    set_events(c);
    if (shutdown(c->fd, SHUT_WR) < 0 || c->ended)
        report_closed(c, 0, NULL);
}

static void flush(struct rpc_conn *c)
{
    bool moved = false;

    if (c->shut || c->fd < 0)
        return;
    while (rpc_conn_backlog(c)) {
        ssize_t n = send(c->fd, c->out.data + c->out_pos, rpc_conn_backlog(c), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            int e = errno;
            report_closed(c, e == EPIPE || e == ECONNRESET ? -ERR_CLOSED : -e, strerror(e));
            return;
        }
        if (n < 0)
            break;
        moved = true;
        out_sent(c, (size_t)n);
    }
    if (rpc_conn_backlog(c) == 0) {
        c->stalled_since = 0;
    } else if (moved || !c->stalled_since) {
        c->stalled_since = loop_mono_ms();
        set_timed(c);
    }
    set_events(c);
    if (c->finishing && rpc_conn_backlog(c) == 0)
        start_linger(c);
    else if (moved && c->ops->on_drained && rpc_conn_backlog(c) <= RPC_SESSION_LOW)
        c->ops->on_drained(c->owner);
}

void rpc_conn_send(struct rpc_conn *c, const struct rpc_header *h, const void *token,
                   const void *body)
{
    size_t before = c->out.len;

    if (c->dead || c->fd < 0 || c->finishing)
        return;
    rpc_frame_append(&c->out, h, token, body);
    c->io->queued += c->out.len - before;
    if (!c->stalled_since)
        set_pending(c);
}

/* What was read of a frame that will not become complete. */
static void drop_rest(struct rpc_conn *c)
{
    set_held(c, 0);
    c->frame_deadline = 0;
    if (!c->busy)
        str_done(&c->in);
    else
        c->in.len = 0;
}

void rpc_conn_finish(struct rpc_conn *c)
{
    if (c->dead || c->finishing)
        return;
    c->finishing = true;
    c->paused = false;
    drop_rest(c);
    set_events(c);
    set_pending(c);
}

/* Input. */

static void refuse(struct rpc_conn *c, const struct rpc_frame *f, const struct err *err)
{
    c->refused = true;
    c->ops->on_refused(c->owner, f, err);
}

/* One frame of the bytes: how many it took; 0: it is not complete, or was refused. */
static size_t feed_one(struct rpc_conn *c, const uint8_t *data, size_t len)
{
    struct err err = {0};
    struct rpc_frame f = {.header = &c->header, .head = data, .token = data + RPC_HEADER_SIZE};
    size_t with_token, all;

    if (len < RPC_HEADER_SIZE)
        return 0;
    if (!c->header_ok && rpc_header_unpack(data, c->body_max, &c->header, &err) < 0) {
        refuse(c, NULL, &err);
        return 0;
    }
    c->header_ok = true;
    with_token = RPC_HEADER_SIZE + c->header.token_len;
    if (len < with_token)
        return 0;
    if (!c->token_ok && c->ops->on_head && c->ops->on_head(c->owner, &f, &err) < 0) {
        if (!c->dead)
            refuse(c, &f, &err);
        return 0;
    }
    c->token_ok = true;
    all = with_token + c->header.body_len;
    if (len < all)
        return 0;
    f.body = data + with_token;
    c->header_ok = c->token_ok = false;
    c->frame_deadline = 0;
    if (c->ops->on_frame(c->owner, &f, &err) < 0 && !c->dead) {
        refuse(c, &f, &err);
        return 0;
    }
    return all;
}

static bool takes_frames(const struct rpc_conn *c)
{
    return !c->dead && !c->refused && !c->finishing && !c->paused && c->fd >= 0;
}

/* Keeps what is left of an incomplete frame, and starts its deadline. */
static void keep_rest(struct rpc_conn *c, const uint8_t *data, size_t taken, size_t len)
{
    if (c->in.len)
        str_consume(&c->in, taken);
    else if (len > taken)
        str_append(&c->in, data + taken, len - taken);
    set_held(c, c->in.len);
    if (c->in.len == 0)
        str_done(&c->in);
    if (c->in.len && !c->paused && !c->frame_deadline) {
        c->frame_deadline = loop_mono_ms() + RPC_READ_TIMEOUT_MS;
        set_timed(c);
    }
    if (holds_too_much(c) && takes_frames(c)) {
        struct err err;
        err_set(&err, -ERR_BUSY, "too many bytes of incomplete messages; try again later");
        refuse(c, NULL, &err);
        if (!c->dead && c->finishing)
            str_done(&c->in); /* it lingers a while, and what it was refused for goes now */
    }
}

static void feed(struct rpc_conn *c, const uint8_t *data, size_t len)
{
    size_t pos = 0;

    if (c->in.len) {
        if (len)
            str_append(&c->in, data, len);
        set_held(c, c->in.len);
        data = (const uint8_t *)c->in.data;
        len = c->in.len;
    }
    enter(c);
    while (takes_frames(c)) {
        size_t n = feed_one(c, data + pos, len - pos);
        if (n == 0)
            break;
        pos += n;
    }
    if (!c->dead && !c->refused && !c->finishing && c->fd >= 0)
        keep_rest(c, data, pos, len);
    leave(c);
}

/* Whether the other side has closed altogether: a local one shows it at once, one over TCP when it
 * answers a probe or our bytes with a reset. */
static bool hung_up(const struct rpc_conn *c)
{
    struct pollfd p = {.fd = c->fd};

    return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

bool rpc_conn_is_quiet(const struct rpc_conn *c)
{
    int waiting = 0;

    return !c->in.len && c->out_pos == c->out.len && !c->busy && !c->finishing && !c->refused &&
           ioctl(c->fd, FIONREAD, &waiting) == 0 && waiting == 0;
}

bool rpc_conn_has_ended(const struct rpc_conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return c->ended || c->fd < 0 ||
           (poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* The end of what the other side sends (e: or an error). */
static void on_end(struct rpc_conn *c, int e)
{
    /* What a pause held back came before the end; paused anew, the end is found later. */
    if (c->in.len && takes_frames(c))
        feed(c, NULL, 0);
    if (c->dead || c->fd < 0 || (c->paused && c->in.len))
        return;
    if (c->shut) {
        report_closed(c, 0, NULL);
    } else if (e && e != ECONNRESET) {
        report_closed(c, -e, strerror(e));
    } else if (!e && !c->refused && c->ops->on_ended && !hung_up(c)) {
        c->ended = true;
        drop_rest(c);
        if (!c->ops->on_ended(c->owner)) {
            report_closed(c, -ERR_CLOSED, err_text(ERR_CLOSED));
            return;
        }
        set_events(c);
        set_timed(c);
    } else {
        report_closed(c, -ERR_CLOSED, err_text(ERR_CLOSED));
    }
}

static void on_readable(struct rpc_conn *c)
{
    for (unsigned i = 0; i < READS_PER_EVENT && !c->dead && c->fd >= 0 && (c->events & LOOP_READ);
         i++) {
        ssize_t n = recv(c->fd, c->io->scratch, SCRATCH_SIZE, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            on_end(c, n < 0 ? errno : 0);
            return;
        }
        if (!c->refused && !c->finishing)
            feed(c, c->io->scratch, (size_t)n);
        if ((size_t)n < SCRATCH_SIZE)
            return;
    }
}

/* What a connection has to do besides reading. */
static void serve(struct rpc_conn *c)
{
    clear_pending(c);
    if (c->in.len && takes_frames(c)) /* held back while it was paused */
        feed(c, NULL, 0);
    if (!c->dead && c->fd >= 0)
        flush(c);
}

static void on_ready(void *ctx, int fd, unsigned ready)
{
    struct rpc_conn *c = ctx;

    enter(c);
    if (ready & LOOP_READ && c->events & LOOP_READ)
        on_readable(c);
    /* What the handlers answered goes at once, in one write. */
    if (ready & LOOP_WRITE || c->is_pending)
        serve(c);
    leave(c);
}

void rpc_conn_pause(struct rpc_conn *c, bool paused)
{
    if (c->dead || c->paused == paused)
        return;
    c->paused = paused;
    if (paused) {
        c->frame_deadline = 0;
    } else if (c->in.len) {
        c->frame_deadline = loop_mono_ms() + RPC_READ_TIMEOUT_MS;
        set_timed(c);
        set_pending(c); /* complete frames may wait among the bytes held */
    }
    set_events(c);
}

static void on_flush(void *ctx)
{
    struct rpc_io *io = ctx;
    struct rpc_conn *c;
    size_t count;

    io->refs++;
    io->flush_armed = false;
    /* Callbacks may queue more, on any connection: that is the next turn's. */
    DL_COUNT(io->pending, c, count);
    while (count-- && io->pending) {
        c = io->pending;
        enter(c);
        serve(c);
        leave(c);
    }
    if (io->pending && !io->flush_armed) {
        io->flush_armed = true;
        loop_timer_set(io->flush_timer, 0);
    }
    io_unref(io);
}

/* Deadlines. */

void rpc_conn_expire(struct rpc_conn *c, int64_t after_ms)
{
    c->expire_at = after_ms < 0 ? 0 : loop_mono_ms() + after_ms;
    if (c->expire_at)
        set_timed(c);
}

void rpc_conn_may_stall(struct rpc_conn *c, bool may)
{
    c->may_stall = may;
}

/* Deadlines are kept by closing before the sweep that would be too late. */
static bool is_due(int64_t at, int64_t now)
{
    return at && at < now + SWEEP_MS;
}

static void sweep_one(struct rpc_conn *c, int64_t now)
{
    int64_t patience = c->finishing && !c->ended           ? LINGER_MS
                       : c->io->queued > RPC_STALL_PRESSED ? RPC_STALL_PRESSED_MS
                                                           : RPC_STALL_TIMEOUT_MS;

    if (c->shut) {
        /* Closed now, what the other host has not taken would be lost after a few minutes. */
        if (c->may_stall && rpc_conn_unread(c))
            c->linger_until = now + LINGER_LONG_MS;
        if (is_due(c->linger_until, now))
            report_closed(c, 0, NULL);
        return;
    }
    if (c->ended && hung_up(c))
        report_closed(c, -ERR_CLOSED, err_text(ERR_CLOSED));
    else if (is_due(c->frame_deadline, now))
        report_closed(c, -ERR_TIMEOUT, "a message came too slowly");
    else if (c->stalled_since && !c->may_stall && is_due(c->stalled_since + patience, now))
        report_closed(c, -ERR_TIMEOUT, "the other side does not read what it is sent");
    else if (is_due(c->expire_at, now))
        report_closed(c, -ERR_TIMEOUT, "nothing was asked for too long");
    else if (!c->frame_deadline && !c->stalled_since && !c->expire_at && !c->ended)
        clear_timed(c);
}

static void on_sweep(void *ctx)
{
    struct rpc_io *io = ctx;
    int64_t now = loop_mono_ms();

    io->refs++;
    io->sweep_armed = false;
    io->cursor = io->timed;
    while (io->cursor) {
        struct rpc_conn *c = io->cursor;
        io->cursor = c->timed_next;
        enter(c);
        sweep_one(c, now);
        leave(c);
    }
    if (io->timed && !io->sweep_armed) {
        io->sweep_armed = true;
        loop_timer_set(io->sweep_timer, SWEEP_MS);
    }
    io_unref(io);
}
