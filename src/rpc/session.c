/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/session.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "rpc/accept.h"
#include "rpc/dial.h"
#include "rpc/seal.h"

#define DIAL_EACH_MS 5000
/* Time per target when there are several: another controller may be reachable, and nodes wait for
   it. */
#define DIAL_EACH_OF_SEVERAL_MS 2000
#define BULK_MIN 2048 /* body size in bytes from which the fast MAC is faster */
#define PEER_TEXT_MAX (AUTH_NAME_MAX + RPC_ADDR_TEXT_MAX + 8)

enum state {
    ST_CLOSED,   /* between attempts, or finally closed */
    ST_DIALLING, /* connecting side only */
    /* Connecting: waiting for the other side's proof; accepting: waiting for frame 3. */
    ST_HELLO,
    ST_OPEN,
};

struct rpc_session {
    struct rpc_io *io;
    struct loop_timer *timer; /* connecting side: the next attempt */
    struct rpc_conn *conn;
    struct rpc_dial *dial;
    enum state state;
    struct auth_key key;
    struct rpc_transcript transcript;
    struct rpc_seal seal;
    struct rpc_session_events events;
    unsigned accepts;
    char address[RPC_ADDR_TEXT_MAX], peer[PEER_TEXT_MAX];
    bool paused, finishing, filled, in_close;
    bool send_bulk;
    /* Both ends are on this host and the kernel has identified them to each other. */
    bool is_local;

    bool accepted;
    void (*opened)(void *ctx, struct rpc_session *s, const char *name);
    void (*refused)(void *ctx, const char *why);
    void (*released)(void *ctx);
    void *accept_ctx;

    char my_name[RPC_SESSION_NAME_SIZE];
    struct rpc_target *targets;
    /* Attempts begin with index 'first'; index 'reached' answered last. */
    size_t count, first, reached;
    bool retry;
    int64_t pause_ms, opened_at;
    char *last_reason; /* the reason that was last reported to on_close */
};

static const struct rpc_conn_ops handshake_ops, open_ops;

static void send_handshake(struct rpc_session *s, unsigned flags, uint64_t id, const void *body,
                           size_t len)
{
    struct rpc_header h = {
        .version = RPC_VERSION,
        .flags = (uint16_t)(RPC_FLAG_SESSION | flags),
        .body_len = (uint32_t)len,
        .id = id,
    };

    rpc_conn_send(s->conn, &h, NULL, body);
}

static void free_targets(struct rpc_session *s)
{
    for (size_t i = 0; i < s->count; i++)
        free((char *)s->targets[i].addr);
    free(s->targets);
}

static void release_connection(struct rpc_session *s)
{
    rpc_conn_free(take_ptr(s->conn));
    rpc_dial_drop(take_ptr(s->dial));
    if (s->accepted)
        s->released(s->accept_ctx);
    else
        rpc_io_free(s->io);
    if (s->timer)
        loop_timer_free(s->timer);
    free_targets(s);
    free(s->last_reason);
    auth_key_done(&s->key);
    rpc_seal_done(&s->seal);
    free(s);
}

void rpc_session_free(struct rpc_session *s)
{
    if (!s || (s->in_close && s->accepted))
        return;
    release_connection(s);
}

/* Handles the end of a connection or of an attempt. s may be freed by the callback. */
static void lose_connection(struct rpc_session *s, const struct err *why)
{
    bool was_open = s->state == ST_OPEN, again = s->retry && !s->finishing;
    const struct rpc_session_events *ev = &s->events;

    s->state = ST_CLOSED;
    rpc_conn_free(take_ptr(s->conn));
    rpc_seal_done(&s->seal);
    if (s->accepted) {
        s->in_close = true;
        if (was_open && ev->on_close)
            ev->on_close(ev->ctx, s, why);
        else if (!was_open)
            s->refused(s->accept_ctx, why->text);
        release_connection(s);
        return;
    }
    if (again) {
        uint32_t jitter;
        if (was_open && loop_mono_ms() - s->opened_at > RPC_SESSION_RETRY_MAX_MS)
            s->pause_ms = RPC_SESSION_RETRY_MIN_MS;
        auth_random(&jitter, sizeof(jitter));
        loop_timer_set(s->timer, s->pause_ms / 2 + jitter % (s->pause_ms / 2 + 1));
        s->pause_ms *= 2;
        if (s->pause_ms > RPC_SESSION_RETRY_MAX_MS)
            s->pause_ms = RPC_SESSION_RETRY_MAX_MS;
        if (!was_open && s->last_reason && strcmp(s->last_reason, why->text) == 0)
            return;
    }
    free(s->last_reason);
    s->last_reason = mem_strdup(why->text);
    if (ev->on_close)
        ev->on_close(ev->ctx, s, why);
}

static void on_closed(void *owner, const struct err *why)
{
    struct rpc_session *s = owner;
    struct err err = *why;

    if (s->accepted && s->state == ST_HELLO && err.code == -ERR_CLOSED)
        err_set(&err, err.code, "node %s refused the connection: its slurm.key differs", s->peer);
    else if (err.code)
        err_prefix(&err, "session with %s", s->peer);
    lose_connection(s, &err);
}

/* A frame violates the protocol: the session ends. Only an accepting side without a proof from the
 * peer sends the reason, so that a wrong key can be explained. */
static void on_refused(void *owner, const struct rpc_frame *f, const struct err *err)
{
    struct rpc_session *s = owner;
    struct err why = *err;

    if (s->accepted && s->state != ST_OPEN) {
        _cleanup_str_ struct str body = STR_INIT;
        rpc_error_pack(err->code, err->text, &body);
        send_handshake(s, RPC_FLAG_REPLY | RPC_FLAG_ERROR, 0, body.data, body.len);
        /* The session ends without a further report. */
        s->refused(s->accept_ctx, err->text);
        s->refused = NULL;
        rpc_conn_finish(s->conn);
        return;
    }
    err_prefix(&why, "session with %s", s->peer);
    lose_connection(s, &why);
}

static void on_handshake_closed(void *owner, const struct err *why)
{
    struct rpc_session *s = owner;

    if (s->accepted && !s->refused)
        release_connection(s);
    else
        on_closed(owner, why);
}

static void set_open(struct rpc_session *s)
{
    rpc_seal_init(&s->seal, &s->key, &s->transcript, !s->accepted);
    s->seal.is_protected = s->is_local || rpc_conn_is_encrypted(s->conn);
    s->send_bulk = false;
    s->state = ST_OPEN;
    s->opened_at = loop_mono_ms();
    free(take_ptr(s->last_reason));
    rpc_conn_give(s->conn, RPC_BODY_MAX, &open_ops, s);
    rpc_conn_expire(s->conn, -1);
    rpc_conn_may_stall(s->conn, true);
    rpc_conn_pause(s->conn, s->paused);
}

/* Handshake. */

int rpc_session_check_hello(const struct rpc_header *h, struct err *err)
{
    if (h->rpc != 0 || h->flags != RPC_FLAG_SESSION || h->token_len != 0 ||
        h->body_len != sizeof(struct rpc_hello))
        return err_set(err, -ERR_PROTOCOL, "malformed beginning of a session");
    return 0;
}

static int got_hello_reply(struct rpc_session *s, const struct rpc_frame *f, struct err *err)
{
    const struct rpc_header *h = f->header;
    struct rpc_hello_reply reply;
    uint8_t proof[AUTH_MAC_SIZE];
    int rc;

    if (h->flags & RPC_FLAG_ERROR) {
        rc = rpc_error_unpack(f->body, h->body_len, err);
        err_prefix(err, "refused");
        return rc;
    }
    if (h->rpc != 0 || h->flags != (RPC_FLAG_SESSION | RPC_FLAG_REPLY) || h->token_len ||
        h->body_len != sizeof(reply))
        return err_set(err, -ERR_PROTOCOL, "malformed answer to the beginning of a session");
    memcpy(&reply, f->body, sizeof(reply));
    rc = rpc_hello_check(&reply.hello, err);
    if (rc < 0)
        return rc;
    s->transcript.accepting = reply.hello;
    rpc_seal_proof(&s->key, &s->transcript, false, proof);
    if (!auth_equal(proof, reply.proof, sizeof(proof)))
        return err_set(err, -ERR_AUTH,
                       "it does not know the key that is used here; "
                       "slurm.key must be the same on every host");
    rpc_seal_proof(&s->key, &s->transcript, true, proof);
    send_handshake(s, 0, 2, proof, sizeof(proof));
    snprintf(s->peer, sizeof(s->peer), "%s (%s)", reply.hello.name, s->address);
    set_open(s);
    if (s->events.on_open)
        s->events.on_open(s->events.ctx, s);
    return 0;
}

static int got_proof(struct rpc_session *s, const struct rpc_frame *f, struct err *err)
{
    const struct rpc_header *h = f->header;
    uint8_t proof[AUTH_MAC_SIZE];

    if (h->rpc != 0 || h->flags != RPC_FLAG_SESSION || h->token_len || h->body_len != sizeof(proof))
        return err_set(err, -ERR_PROTOCOL, "malformed end of a session's beginning");
    rpc_seal_proof(&s->key, &s->transcript, true, proof);
    if (!auth_equal(proof, f->body, sizeof(proof)))
        return err_set(err, -ERR_AUTH, "%s does not know the key that is used here",
                       s->transcript.connecting.name);
    set_open(s);
    s->opened(s->accept_ctx, s, s->transcript.connecting.name);
    return 0;
}

static int on_handshake_frame(void *owner, const struct rpc_frame *f, struct err *err)
{
    struct rpc_session *s = owner;

    return s->accepted ? got_proof(s, f, err) : got_hello_reply(s, f, err);
}

int rpc_session_accept(const struct rpc_accept *a, const struct rpc_frame *f,
                       struct rpc_session **out, struct err *err)
{
    struct rpc_hello_reply reply;
    struct rpc_session *s;
    struct rpc_hello hello;
    int rc = rpc_session_check_hello(f->header, err);

    if (rc < 0)
        return rc;
    memcpy(&hello, f->body, sizeof(hello));
    rc = rpc_hello_check(&hello, err);
    if (rc < 0)
        return rc;
    s = mem_new(struct rpc_session);
    s->accepted = true;
    s->io = a->io;
    s->conn = a->conn;
    s->is_local = a->is_local;
    s->key = *a->key;
    s->accepts = a->accepts;
    s->opened = a->opened;
    s->refused = a->refused;
    s->released = a->released;
    s->accept_ctx = a->ctx;
    s->state = ST_HELLO;
    snprintf(s->peer, sizeof(s->peer), "%s (%s)", hello.name, a->peer);
    s->transcript.connecting = hello;
    rpc_hello_make(a->my_name, &reply.hello);
    s->transcript.accepting = reply.hello;
    rpc_seal_proof(&s->key, &s->transcript, false, reply.proof);
    rpc_conn_give(s->conn, RPC_BODY_MAX_ANON, &handshake_ops, s);
    rpc_conn_expire(s->conn, RPC_READ_TIMEOUT_MS);
    send_handshake(s, RPC_FLAG_REPLY, 1, &reply, sizeof(reply));
    *out = s;
    return 0;
}

/* The connecting side. */

static void on_dialled(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                       const struct err *err)
{
    struct rpc_session *s = ctx;
    struct auth_noise_key channel;

    s->dial = NULL;
    if (fd < 0) {
        lose_connection(s, err);
        return;
    }
    s->reached = (s->first + target) % s->count;
    /* If this target refuses, the next attempt begins with the one after it. */
    s->first = (s->reached + 1) % s->count;
    rpc_addr_format(addr, s->address);
    snprintf(s->peer, sizeof(s->peer), "%s", s->address);
    s->conn = rpc_conn_new(s->io, fd, RPC_BODY_MAX_ANON, &handshake_ops, s);
    s->is_local = addr->ss.ss_family == AF_UNIX;
    if (!s->is_local) {
        auth_noise_key_make(&s->key, &channel);
        rpc_conn_call(s->conn, &channel, NULL);
    }
    rpc_conn_expire(s->conn, RPC_READ_TIMEOUT_MS);
    s->state = ST_HELLO;
    rpc_hello_make(s->my_name, &s->transcript.connecting);
    send_handshake(s, 0, 1, &s->transcript.connecting, sizeof(s->transcript.connecting));
}

static void on_session_timer(void *ctx)
{
    struct rpc_session *s = ctx;
    struct rpc_target *targets;

    if (s->finishing) {
        lose_connection(s, &(struct err){0});
        return;
    }
    targets = mem_new_array(struct rpc_target, s->count);
    for (size_t i = 0; i < s->count; i++)
        targets[i] = s->targets[(s->first + i) % s->count];
    s->state = ST_DIALLING;
    s->dial = rpc_dial_start(rpc_io_loop(s->io), targets, s->count,
                             s->count > 1 ? DIAL_EACH_OF_SEVERAL_MS : DIAL_EACH_MS, on_dialled, s);
    free(targets);
}

void rpc_session_set_targets(struct rpc_session *s, const struct rpc_target *targets, size_t count)
{
    free_targets(s);
    s->targets = mem_new_array(struct rpc_target, count);
    s->count = count;
    s->first = 0;
    s->reached = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        s->targets[i].addr = mem_strdup(targets[i].addr);
        s->targets[i].port = targets[i].port;
        s->targets[i].owner = targets[i].owner;
    }
}

size_t rpc_session_target(const struct rpc_session *s)
{
    return s->state == ST_OPEN && !s->accepted ? s->reached : SIZE_MAX;
}

void rpc_session_redial(struct rpc_session *s, size_t target)
{
    bool was_open = s->state == ST_OPEN;

    if (s->accepted || s->finishing)
        return;
    rpc_dial_drop(take_ptr(s->dial));
    rpc_conn_free(take_ptr(s->conn));
    rpc_seal_done(&s->seal);
    s->state = ST_CLOSED;
    s->first = target % s->count;
    s->pause_ms = RPC_SESSION_RETRY_MIN_MS;
    loop_timer_set(s->timer, 0);
    if (was_open && s->events.on_close)
        s->events.on_close(s->events.ctx, s, &(struct err){0});
}

struct rpc_session *rpc_session_connect(struct loop *l, const struct auth_key *key,
                                        const char *my_name, const struct rpc_target *targets,
                                        size_t count, bool retry,
                                        const struct rpc_session_events *events)
{
    struct rpc_session *s = mem_new(struct rpc_session);

    s->io = rpc_io_new(l);
    s->timer = loop_timer_new(l, on_session_timer, s);
    s->key = *key;
    s->retry = retry;
    s->pause_ms = RPC_SESSION_RETRY_MIN_MS;
    s->events = *events;
    s->accepts = events->accepts ? events->accepts : RPC_WHO_NODE;
    snprintf(s->my_name, sizeof(s->my_name), "%s", my_name);
    snprintf(s->peer, sizeof(s->peer), "%s:%u", targets[0].addr, targets[0].port);
    rpc_session_set_targets(s, targets, count);
    loop_timer_set(s->timer, 0);
    return s;
}

/* Open. */

static int on_open_head(void *owner, const struct rpc_frame *f, struct err *err)
{
    struct rpc_session *s = owner;
    const struct rpc_header *h = f->header;
    const struct rpc_info *rpc = rpc_find(h->rpc);

    if (!rpc || (h->flags & ~RPC_FLAG_BULK) != RPC_FLAG_SESSION || h->token_len != AUTH_MAC_SIZE)
        return err_set(err, -ERR_PROTOCOL, "not a message of a session");
    if (!rpc_allowed(rpc, s->accepts))
        return err_set(err, -ERR_ACCESS, "%s is not for this kind of session", rpc->name);
    return 0;
}

static int on_open_frame(void *owner, const struct rpc_frame *f, struct err *err)
{
    struct rpc_session *s = owner;
    const struct rpc_header *h = f->header;
    const struct rpc_info *rpc = rpc_find(h->rpc);
    size_t factor = s->accepts == RPC_WHO_KEY ? RPC_ARENA_FACTOR : RPC_NODE_FACTOR;
    struct arena arena;
    ProtobufCMessage *body;
    int rc = rpc_seal_check(&s->seal, h, f->body, f->token, err);

    if (rc < 0)
        return rc;
    body = rpc_unpack_lent(rpc, f->body, h->body_len, factor, &arena, err);
    if (body && s->events.on_message)
        s->events.on_message(s->events.ctx, s, rpc, body);
    arena_done(&arena);
    return body ? 0 : err->code;
}

static void on_drained(void *owner)
{
    struct rpc_session *s = owner;

    if (!s->filled)
        return;
    s->filled = false;
    if (s->events.on_drained)
        s->events.on_drained(s->events.ctx, s);
}

static const struct rpc_conn_ops handshake_ops = {
    .on_frame = on_handshake_frame,
    .on_refused = on_refused,
    .on_closed = on_handshake_closed,
};
static const struct rpc_conn_ops open_ops = {
    .on_head = on_open_head,
    .on_frame = on_open_frame,
    .on_refused = on_refused,
    .on_drained = on_drained,
    .on_closed = on_closed,
};

void rpc_session_set_events(struct rpc_session *s, const struct rpc_session_events *events)
{
    s->events = *events;
}

void rpc_session_finish(struct rpc_session *s)
{
    if (s->finishing)
        return;
    s->finishing = true;
    if (s->conn) {
        rpc_conn_finish(s->conn);
        return;
    }
    rpc_dial_drop(take_ptr(s->dial));
    if (s->timer)
        loop_timer_set(s->timer, 0);
}

void rpc_session_send(struct rpc_session *s, enum rpc_number number, const ProtobufCMessage *body)
{
    uint8_t mac[AUTH_MAC_SIZE], *bytes = NULL;
    struct rpc_header h = {
        .version = RPC_VERSION,
        .rpc = (uint16_t)number,
        .flags = RPC_FLAG_SESSION,
        .token_len = AUTH_MAC_SIZE,
    };
    size_t len;

    if (s->state != ST_OPEN || s->finishing)
        return;
    len = protobuf_c_message_get_packed_size(body);
    if (len <= RPC_BODY_MAX)
        bytes = rpc_conn_room(s->conn, h.token_len, len);
    if (!bytes)
        return;
    protobuf_c_message_pack(body, bytes);
    h.body_len = (uint32_t)len;
    if (s->send_bulk && len >= BULK_MIN)
        h.flags |= RPC_FLAG_BULK;
    rpc_seal_sign(&s->seal, &h, bytes, mac);
    rpc_conn_filled(s->conn, &h, mac);
    if (rpc_conn_backlog(s->conn) > RPC_SESSION_LOW)
        s->filled = true;
}

void rpc_session_send_bulk(struct rpc_session *s)
{
    s->send_bulk = true;
}

bool rpc_session_is_open(const struct rpc_session *s)
{
    return s->state == ST_OPEN && !s->finishing;
}

bool rpc_session_has_ended(const struct rpc_session *s)
{
    return !s->conn || rpc_conn_has_ended(s->conn);
}

size_t rpc_session_backlog(const struct rpc_session *s)
{
    return s->conn ? rpc_conn_backlog(s->conn) : 0;
}

size_t rpc_session_unread(const struct rpc_session *s)
{
    return s->conn ? rpc_conn_unread(s->conn) : 0;
}

bool rpc_session_is_stuck(const struct rpc_session *s, int64_t ms)
{
    return s->conn && rpc_conn_is_stuck(s->conn, ms);
}

void rpc_session_pause(struct rpc_session *s, bool paused)
{
    s->paused = paused;
    if (s->conn && s->state == ST_OPEN)
        rpc_conn_pause(s->conn, paused);
}

const char *rpc_session_peer(const struct rpc_session *s)
{
    return s->peer;
}
