/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: splits bytes into frames, and limits the memory of incomplete frames. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "rpc/conn_priv.h"
#include "rpc/rpc.h"

#define READ_MAX (256u << 10) /* bytes per read of a long frame */
#define READS_PER_EVENT 4     /* then other connections are served */

static void set_held(struct rpc_conn *c, size_t bytes)
{
    if (!c->share)
        return;
    bytes += c->records.len;
    c->io->held += bytes - c->held;
    c->share->held += bytes - c->held;
    c->held = bytes;
}

void rpc_conn_share(struct rpc_conn *c, struct rpc_share *share)
{
    if (c->share) {
        c->io->held -= c->held;
        c->share->held -= c->held;
        c->held = 0;
    }
    c->share = share;
    set_held(c, c->in.len);
}

/* A share never holds more than what is left for the other shares, so something is always left. */
static bool holds_too_much(const struct rpc_conn *c)
{
    size_t all = c->io->held;

    return c->share && (c->share->held > RPC_HELD_PER_PEER || all > RPC_HELD_MAX ||
                        c->share->held > RPC_HELD_MAX - all);
}

void rpc_conn_read_drop(struct rpc_conn *c)
{
    c->records.len = 0;
    set_held(c, 0);
    c->frame_deadline = 0;
    if (!c->busy) {
        str_done(&c->in);
        str_done(&c->records);
    } else {
        c->in.len = 0;
    }
}

static void refuse_frame(struct rpc_conn *c, const struct rpc_frame *f, const struct err *err)
{
    c->refused = true;
    c->ops->on_refused(c->owner, f, err);
}

/* Whether the input before the first frame begins like an HTTP request. */
static bool is_http(const struct rpc_conn *c, const void *data, size_t len)
{
    return c->takes_http && c->form != FORM_RECORDS && rpc_http_begins(data, len);
}

static void feed_http(struct rpc_conn *c, const void *data, size_t len)
{
    struct rpc_http request;
    int status = rpc_http_parse(data, len, &request);

    if (status == RPC_HTTP_MORE)
        return;
    c->refused = true;
    c->ops->on_http(c->owner, &request, status);
}

/* Processes one frame. Returns the number of bytes consumed; 0: the frame is incomplete or was
   refused. */
static size_t feed_one(struct rpc_conn *c, const uint8_t *data, size_t len)
{
    struct err err = {0};
    struct rpc_frame f = {.header = &c->header, .head = data, .token = data + RPC_HEADER_SIZE};
    size_t with_token, all;

    if (is_http(c, data, len)) {
        feed_http(c, data, len);
        return 0;
    }
    if (len < RPC_HEADER_SIZE)
        return 0;
    c->takes_http = false;
    if (!c->header_ok && rpc_header_unpack(data, c->body_max, &c->header, &err) < 0) {
        refuse_frame(c, NULL, &err);
        return 0;
    }
    c->header_ok = true;
    with_token = RPC_HEADER_SIZE + c->header.token_len;
    if (len < with_token)
        return 0;
    if (!c->token_ok && c->ops->on_head && c->ops->on_head(c->owner, &f, &err) < 0) {
        if (!c->dead)
            refuse_frame(c, &f, &err);
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
        refuse_frame(c, &f, &err);
        return 0;
    }
    return all;
}

/* Returns the number of missing bytes of a long frame that was accepted. They are read directly
 * into its buffer, which grows as they arrive. */
static size_t rest_of_long_frame(const struct rpc_conn *c)
{
    size_t all = RPC_HEADER_SIZE + c->header.token_len + (size_t)c->header.body_len;

    return c->token_ok && rpc_conn_takes_frames(c) && all > SCRATCH_SIZE && all > c->in.len
               ? all - c->in.len
               : 0;
}

static void start_deadline(struct rpc_conn *c)
{
    if (c->frame_deadline)
        return;
    c->frame_deadline = loop_mono_ms() + RPC_READ_TIMEOUT_MS;
    rpc_conn_sweep_add(c);
}

/* Keeps the bytes of an incomplete frame and starts its deadline. */
static void keep_rest(struct rpc_conn *c, const uint8_t *data, size_t taken, size_t len)
{
    size_t all = c->in.len ? 0 : rest_of_long_frame(c);

    if (c->in.len) {
        str_consume(&c->in, taken);
    } else if (len > taken) {
        str_reserve(&c->in, all > len - taken ? all : len - taken);
        str_append(&c->in, data + taken, len - taken);
    }
    set_held(c, c->in.len);
    if (c->in.len == 0)
        str_done(&c->in);
    if (c->in.len && !c->paused)
        start_deadline(c);
    if (holds_too_much(c) && rpc_conn_takes_frames(c)) {
        struct err err;
        err_set(&err, -ERR_BUSY, "too many bytes of incomplete messages; try again later");
        refuse_frame(c, NULL, &err);
        if (!c->dead && c->finishing)
            /* The connection lingers for a while; the refused input is freed now. */
            str_done(&c->in);
    }
}

static void feed_bytes(struct rpc_conn *c, const uint8_t *data, size_t len)
{
    size_t pos = 0;

    if (c->in.len) {
        if (len)
            str_append(&c->in, data, len);
        set_held(c, c->in.len);
        data = (const uint8_t *)c->in.data;
        len = c->in.len;
    }
    rpc_conn_enter(c);
    while (rpc_conn_takes_frames(c)) {
        size_t n = feed_one(c, data + pos, len - pos);
        if (n == 0)
            break;
        pos += n;
    }
    if (!c->dead && !c->refused && !c->finishing && c->fd >= 0)
        keep_rest(c, data, pos, len);
    rpc_conn_leave(c);
}

void rpc_conn_read_held(struct rpc_conn *c)
{
    if (c->in.len && rpc_conn_takes_frames(c))
        feed_bytes(c, NULL, 0);
}

/* Encryption. */

/* Processes the input before the first record, which is kept until it is complete. Returns the
 * number of bytes consumed; 0: it is incomplete or was refused. */
static size_t take_hello(struct rpc_conn *c)
{
    const uint8_t *data = (const uint8_t *)c->records.data;
    struct err err = {0};
    int rc;

    if (c->form == FORM_CALLED) {
        rc = rpc_channel_answered(c->channel, data, c->records.len, &err);
        if (rc > 0) {
            rpc_conn_set_records(c, NULL, 0);
            return (size_t)rc;
        }
    } else {
        if (is_http(c, data, c->records.len)) {
            c->form = FORM_PLAIN;
            return 0;
        }
        struct rpc_channel_accepted accepted;
        rc = rpc_channel_accept(c->accept_keys, data, c->records.len, &accepted, &err);
        if (rc == RPC_CHANNEL_PLAIN)
            c->form = FORM_PLAIN;
        if (rc == RPC_CHANNEL_OPEN) {
            c->channel = accepted.channel;
            rpc_conn_set_records(c, accepted.reply, sizeof(accepted.reply));
            if (!accepted.jwt ||
                c->ops->on_jwt(c->owner, accepted.jwt, accepted.jwt_len, &err) == 0)
                return accepted.taken;
            rc = err.code;
        }
    }
    if (rc < 0)
        refuse_frame(c, NULL, &err);
    return 0;
}

/* Processes records at any address: decrypts and processes the complete ones, and keeps the
   rest. */
static void take_records(struct rpc_conn *c, uint8_t *data, size_t len)
{
    bool kept = data == (uint8_t *)c->records.data;
    struct err err = {0};
    size_t plain;
    int taken = rpc_channel_unseal(c->channel, data, len, &plain, &err);

    if (taken < 0) {
        refuse_frame(c, NULL, &err);
        return;
    }
    if (!kept)
        str_append(&c->records, data + taken, len - (size_t)taken);
    if (plain)
        feed_bytes(c, data, plain);
    if (c->dead || c->fd < 0)
        return;
    if (kept)
        str_consume(&c->records, (size_t)taken);
    if (!c->records.len)
        str_done(&c->records);
    else if (!c->paused)
        start_deadline(c);
    set_held(c, c->in.len);
}

/* Processes received bytes, in the scratch memory or, with data NULL, where rest_of_long_frame()
   has them read. */
static void take_bytes(struct rpc_conn *c, const uint8_t *data, size_t len)
{
    size_t taken;

    if (c->form == FORM_PLAIN) {
        feed_bytes(c, data, data ? len : 0);
        return;
    }
    if (c->form == FORM_RECORDS && !c->records.len) {
        take_records(c, c->io->scratch, len);
        return;
    }
    if (data)
        str_append(&c->records, data, len);
    if (c->form == FORM_RECORDS) {
        take_records(c, (uint8_t *)c->records.data, c->records.len);
        return;
    }
    start_deadline(c);
    taken = take_hello(c);
    if (c->dead || c->fd < 0 || c->refused)
        return;
    if (!taken)
        set_held(c, c->in.len);
    if (c->form == FORM_PLAIN) {
        struct str first = c->records;
        c->records = (struct str)STR_INIT;
        c->frame_deadline = 0;
        feed_bytes(c, (const uint8_t *)first.data, first.len);
        str_done(&first);
    } else if (taken) {
        c->frame_deadline = 0;
        str_consume(&c->records, taken);
        take_records(c, (uint8_t *)c->records.data, c->records.len);
    }
}

/* Handles the end of the peer's data, or the error e. */
static void on_end(struct rpc_conn *c, int e)
{
    /* Input held back by a pause precedes the end. If a callback pauses again, the end is handled
       later. */
    rpc_conn_read_held(c);
    if (c->dead || c->fd < 0 || (c->paused && c->in.len))
        return;
    if (c->shut) {
        rpc_conn_report_closed(c, 0, NULL);
    } else if (e && e != ECONNRESET) {
        rpc_conn_report_closed(c, -e, strerror(e));
    } else if (!e && !c->refused && c->ops->on_ended && !rpc_conn_hung_up(c)) {
        c->ended = true;
        rpc_conn_read_drop(c);
        if (!c->ops->on_ended(c->owner)) {
            rpc_conn_report_closed(c, -ERR_CLOSED, err_text(ERR_CLOSED));
            return;
        }
        rpc_conn_set_events(c);
        rpc_conn_sweep_add(c);
    } else {
        rpc_conn_report_closed(c, -ERR_CLOSED, err_text(ERR_CLOSED));
    }
}

/* Like recv(). *into is the destination buffer; NULL: the buffer of kept input. */
static ssize_t read_some(struct rpc_conn *c, const uint8_t **into)
{
    size_t rest = c->form == FORM_PLAIN ? rest_of_long_frame(c) : 0;
    ssize_t n;

    if (!rest) {
        *into = c->io->scratch;
        return recv(c->fd, c->io->scratch, SCRATCH_SIZE, 0);
    }
    *into = NULL;
    str_reserve(&c->in, rest);
    n = recv(c->fd, c->in.data + c->in.len, rest < READ_MAX ? rest : READ_MAX, 0);
    if (n > 0)
        c->in.len += (size_t)n;
    return n;
}

void rpc_conn_read(struct rpc_conn *c)
{
    for (unsigned i = 0; i < READS_PER_EVENT && !c->dead && c->fd >= 0 && (c->events & LOOP_READ);
         i++) {
        const uint8_t *into;
        ssize_t n = read_some(c, &into);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            on_end(c, n < 0 ? errno : 0);
            return;
        }
        if (!c->refused && !c->finishing)
            take_bytes(c, into, (size_t)n);
        if ((size_t)n < SCRATCH_SIZE)
            return;
    }
}
