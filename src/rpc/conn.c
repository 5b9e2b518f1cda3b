/* SPDX-License-Identifier: GPL-3.0-or-later */
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
#include "rpc/conn_priv.h"
#include "rpc/rpc.h"
#include "rpc/session.h"

#define OUT_KEEP (16u << 10) /* an empty output buffer of up to this size is kept */
/* An empty buffer of up to this size is reused by the next connection. */
#define SPARE_MAX (2u << 20)

static void on_flush(void *ctx);

struct rpc_io *rpc_io_new(struct loop *l)
{
    struct rpc_io *io = mem_new(struct rpc_io);

    io->loop = l;
    io->refs = 1;
    /* Not zeroed: pages that are never written take no memory. */
    io->scratch = malloc(SCRATCH_SIZE);
    if (!io->scratch)
        io->scratch = mem_alloc(SCRATCH_SIZE);
    io->flush_timer = loop_timer_new(l, on_flush, io);
    io->sweep_timer = loop_timer_new(l, rpc_conn_sweep, io);
    return io;
}

void rpc_io_unref(struct rpc_io *io)
{
    if (--io->refs)
        return;
    loop_timer_free(io->flush_timer);
    loop_timer_free(io->sweep_timer);
    str_done(&io->spare);
    free(io->scratch);
    free(io);
}

void rpc_io_free(struct rpc_io *io)
{
    if (io)
        rpc_io_unref(io);
}

size_t rpc_io_queued(const struct rpc_io *io)
{
    return io->queued;
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

static size_t plain_backlog(const struct rpc_conn *c)
{
    return c->out.len - c->out_pos;
}

static size_t sealed_backlog(const struct rpc_conn *c)
{
    return c->sealed_out.len - c->sealed_pos;
}

size_t rpc_conn_backlog(const struct rpc_conn *c)
{
    return plain_backlog(c) + sealed_backlog(c);
}

/* Whether queued output may be written now. */
static bool may_send(const struct rpc_conn *c)
{
    return sealed_backlog(c) || (plain_backlog(c) && c->form != FORM_CALLED);
}

/* Whether the socket is a UNIX socket. Data that the kernel has accepted on a UNIX socket stays
   readable after the sender has closed. */
static bool is_unix(int fd)
{
    int domain = 0;
    socklen_t len = sizeof(domain);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

size_t rpc_conn_unread(const struct rpc_conn *c)
{
    int in_kernel = 0;

    if (c->fd < 0 || is_unix(c->fd) || ioctl(c->fd, SIOCOUTQ, &in_kernel) || in_kernel < 0)
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

void rpc_conn_set_events(struct rpc_conn *c)
{
    unsigned events = 0;

    /* A lingering connection keeps reading to see the end of the peer's data. */
    if (!c->paused && !c->ended && (!c->finishing || c->shut))
        events |= LOOP_READ;
    if (may_send(c) && c->stalled_since)
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

void rpc_conn_call(struct rpc_conn *c, const struct auth_noise_key *k, const struct auth_jwt *jwt)
{
    if (!rpc_encryption() && !jwt)
        return;
    c->form = FORM_CALLED;
    c->channel = rpc_channel_call(k, jwt, &c->sealed_out);
    c->io->queued += sealed_backlog(c);
    set_pending(c);
}

void rpc_conn_accept(struct rpc_conn *c, const struct rpc_channel_keys *keys)
{
    c->form = FORM_ACCEPTED;
    c->accept_keys = keys;
}

void rpc_conn_take_http(struct rpc_conn *c)
{
    c->takes_http = true;
}

void rpc_conn_set_records(struct rpc_conn *c, const uint8_t *reply, size_t len)
{
    c->form = FORM_RECORDS;
    if (len) {
        str_append(&c->sealed_out, reply, len);
        c->io->queued += len;
    }
    if (rpc_conn_backlog(c) && !c->stalled_since)
        set_pending(c);
}

void rpc_conn_give(struct rpc_conn *c, uint32_t body_max, const struct rpc_conn_ops *ops,
                   void *owner)
{
    c->body_max = body_max;
    c->ops = ops;
    c->owner = owner;
}

static void close_fd(struct rpc_conn *c)
{
    clear_pending(c);
    rpc_conn_sweep_remove(c);
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
    str_done(&c->records);
    str_done(&c->sealed_out);
    rpc_channel_free(c->channel);
    rpc_io_unref(c->io);
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

int rpc_conn_release(struct rpc_conn *c)
{
    loop_fd_free(take_ptr(c->watch));
    return take_fd(&c->fd);
}

bool rpc_conn_leave(struct rpc_conn *c)
{
    if (--c->busy || !c->dead)
        return !c->dead;
    conn_destroy(c);
    return false;
}

void rpc_conn_report_closed(struct rpc_conn *c, int code, const char *text)
{
    struct err why = {0};

    if (c->dead || c->fd < 0)
        return;
    close_fd(c);
    if (code)
        err_set(&why, code, "%s", text);
    c->ops->on_closed(c->owner, &why);
}

/* A stream fills and empties a large buffer many thousand times per second. Returning its pages to
 * the kernel each time would cost a tenth of the stream's CPU time. */
static void drop_buffer(struct rpc_io *io, struct str *s)
{
    if (s->room <= io->spare.room || s->room > SPARE_MAX) {
        str_done(s);
        return;
    }
    str_done(&io->spare);
    str_clear(s);
    io->spare = *s;
    *s = (struct str){0};
    rpc_conn_sweep_arm(io);
}

static void reserve_buffer(struct rpc_io *io, struct str *s, size_t more)
{
    if (!s->room && more > OUT_KEEP && io->spare.room) {
        *s = io->spare;
        io->spare = (struct str){0};
    }
    str_reserve(s, more);
}

static void consume_output(struct rpc_conn *c, size_t n)
{
    c->out_pos += n;
    c->io->queued -= n;
    if (c->out_pos == c->out.len) {
        c->out_pos = 0;
        if (c->out.room > OUT_KEEP)
            drop_buffer(c->io, &c->out);
        else
            str_clear(&c->out);
    }
}

bool rpc_conn_is_encrypted(const struct rpc_conn *c)
{
    return c->form == FORM_RECORDS;
}

/* Like send(). */
static ssize_t send_sealed(struct rpc_conn *c)
{
    ssize_t n = send(c->fd, c->sealed_out.data + c->sealed_pos, sealed_backlog(c), MSG_NOSIGNAL);

    if (n > 0) {
        c->sealed_pos += (size_t)n;
        c->io->queued -= (size_t)n;
    }
    if (!sealed_backlog(c)) {
        drop_buffer(c->io, &c->sealed_out);
        c->sealed_pos = 0;
    }
    return n;
}

/* Like send_sealed(), but writes the next records. Only bytes that the kernel does not accept are
   kept. */
static ssize_t send_records(struct rpc_conn *c)
{
    const size_t most =
        SCRATCH_SIZE / (RPC_CHANNEL_RECORD + RPC_CHANNEL_OVERHEAD) * RPC_CHANNEL_RECORD;
    size_t len = plain_backlog(c) < most ? plain_backlog(c) : most;
    size_t sealed = rpc_channel_sealed_size(len), sent;
    ssize_t n;
    int e;

    rpc_channel_seal(c->channel, (uint8_t *)c->out.data + c->out_pos, len, c->io->scratch);
    consume_output(c, len);
    n = send(c->fd, c->io->scratch, sealed, MSG_NOSIGNAL);
    e = errno;
    sent = n > 0 ? (size_t)n : 0;
    reserve_buffer(c->io, &c->sealed_out, sealed - sent);
    str_append(&c->sealed_out, c->io->scratch + sent, sealed - sent);
    c->io->queued += sealed - sent;
    errno = e;
    return n;
}

static ssize_t send_some(struct rpc_conn *c)
{
    ssize_t n;

    if (sealed_backlog(c))
        return send_sealed(c);
    if (c->form == FORM_RECORDS)
        return send_records(c);
    n = send(c->fd, c->out.data + c->out_pos, plain_backlog(c), MSG_NOSIGNAL);
    if (n > 0)
        consume_output(c, (size_t)n);
    return n;
}

/* Drops the bytes already sent before it grows the buffer. */
static void reserve_output(struct rpc_conn *c, size_t more)
{
    if (c->out_pos && c->out.room - c->out.len <= more) {
        str_consume(&c->out, c->out_pos);
        c->out_pos = 0;
    }
    reserve_buffer(c->io, &c->out, more);
}

/* The kernel has accepted all queued output: shuts down the sending side and waits for the peer's
   end. */
static void start_linger(struct rpc_conn *c)
{
    c->shut = true;
    c->linger_until = loop_mono_ms() + (c->may_stall ? LINGER_LONG_MS : LINGER_MS);
    rpc_conn_sweep_add(c);
    rpc_conn_set_events(c);
    if (shutdown(c->fd, SHUT_WR) < 0 || c->ended)
        rpc_conn_report_closed(c, 0, NULL);
}

static void flush_conn(struct rpc_conn *c)
{
    bool moved = false;

    if (c->shut || c->fd < 0)
        return;
    while (may_send(c)) {
        ssize_t n = send_some(c);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            int e = errno;
            rpc_conn_report_closed(c, e == EPIPE || e == ECONNRESET ? -ERR_CLOSED : -e,
                                   strerror(e));
            return;
        }
        if (n < 0) { /* the peer does not read: keep no memory except its backlog */
            str_done(&c->io->spare);
            break;
        }
        moved = true;
    }
    if (!may_send(c)) {
        c->stalled_since = 0;
    } else if (moved || !c->stalled_since) {
        c->stalled_since = loop_mono_ms();
        rpc_conn_sweep_add(c);
    }
    rpc_conn_set_events(c);
    if (c->finishing && rpc_conn_backlog(c) == 0)
        start_linger(c);
    else if (moved && c->ops->on_drained && rpc_conn_backlog(c) <= RPC_SESSION_LOW)
        c->ops->on_drained(c->owner);
}

uint8_t *rpc_conn_room(struct rpc_conn *c, size_t token_len, size_t body_len)
{
    size_t head = RPC_HEADER_SIZE + token_len;

    if (c->dead || c->fd < 0 || c->finishing)
        return NULL;
    reserve_output(c, head + body_len);
    return (uint8_t *)c->out.data + c->out.len + head;
}

void rpc_conn_filled(struct rpc_conn *c, const struct rpc_header *h, const void *token)
{
    size_t all = RPC_HEADER_SIZE + h->token_len + (size_t)h->body_len;
    uint8_t *at = (uint8_t *)c->out.data + c->out.len;

    rpc_header_pack(h, at);
    if (h->token_len)
        memcpy(at + RPC_HEADER_SIZE, token, h->token_len);
    c->out.len += all;
    c->out.data[c->out.len] = '\0';
    c->io->queued += all;
    if (!c->stalled_since)
        set_pending(c);
}

void rpc_conn_send_bytes(struct rpc_conn *c, const void *data, size_t len)
{
    if (c->dead || c->fd < 0 || c->finishing)
        return;
    reserve_output(c, len);
    str_append(&c->out, data, len);
    c->io->queued += len;
    if (!c->stalled_since)
        set_pending(c);
}

void rpc_conn_send(struct rpc_conn *c, const struct rpc_header *h, const void *token,
                   const void *body)
{
    uint8_t *room = rpc_conn_room(c, h->token_len, h->body_len);

    if (!room)
        return;
    if (h->body_len)
        memcpy(room, body, h->body_len);
    rpc_conn_filled(c, h, token);
}

void rpc_conn_finish(struct rpc_conn *c)
{
    if (c->dead || c->finishing)
        return;
    c->finishing = true;
    c->paused = false;
    if (c->form == FORM_CALLED) /* this output will never be sent */
        consume_output(c, plain_backlog(c));
    rpc_conn_read_drop(c);
    rpc_conn_set_events(c);
    set_pending(c);
}

bool rpc_conn_hung_up(const struct rpc_conn *c)
{
    struct pollfd p = {.fd = c->fd};

    return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

bool rpc_conn_is_quiet(const struct rpc_conn *c)
{
    int waiting = 0;

    return !c->in.len && !c->records.len && !sealed_backlog(c) && c->out_pos == c->out.len &&
           !c->busy && !c->finishing && !c->refused && ioctl(c->fd, FIONREAD, &waiting) == 0 &&
           waiting == 0;
}

bool rpc_conn_has_ended(const struct rpc_conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return c->ended || c->fd < 0 ||
           (poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* Does the work of a connection except reading. */
static void serve_conn(struct rpc_conn *c)
{
    clear_pending(c);
    rpc_conn_read_held(c);
    if (!c->dead && c->fd >= 0)
        flush_conn(c);
}

static void on_ready(void *ctx, int fd, unsigned ready)
{
    struct rpc_conn *c = ctx;

    rpc_conn_enter(c);
    if (ready & LOOP_READ && c->events & LOOP_READ)
        rpc_conn_read(c);
    /* All replies of the handlers are sent at once, with one system call. */
    if (ready & LOOP_WRITE || c->is_pending)
        serve_conn(c);
    rpc_conn_leave(c);
}

void rpc_conn_pause(struct rpc_conn *c, bool paused)
{
    if (c->dead || c->paused == paused)
        return;
    c->paused = paused;
    if (paused) {
        c->frame_deadline = 0;
    } else if (c->in.len || c->records.len) {
        c->frame_deadline = loop_mono_ms() + RPC_READ_TIMEOUT_MS;
        rpc_conn_sweep_add(c);
        set_pending(c); /* the held-back bytes may have complete frames */
    }
    rpc_conn_set_events(c);
}

static void on_flush(void *ctx)
{
    struct rpc_io *io = ctx;
    struct rpc_conn *c;
    size_t count;

    io->refs++;
    io->flush_armed = false;
    /* Callbacks may queue output on any connection; it is sent in the next turn. */
    DL_COUNT(io->pending, c, count);
    while (count-- && io->pending) {
        c = io->pending;
        rpc_conn_enter(c);
        serve_conn(c);
        rpc_conn_leave(c);
    }
    if (io->pending && !io->flush_armed) {
        io->flush_armed = true;
        loop_timer_set(io->flush_timer, 0);
    }
    rpc_io_unref(io);
}
