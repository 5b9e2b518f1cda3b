/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The path of a caller's input: connection, identity, permissions, request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "base/mem.h"
#include "rpc/server_priv.h"

/* Bytes of all output queues, above which HTTP requests are refused. */
#define HTTP_QUEUED_MAX (32u << 20)

static const struct rpc_conn_ops caller_ops;

static unsigned roles_of(const struct rpc_server *s, uid_t uid, bool local)
{
    unsigned roles = RPC_WHO_USER;
    bool admin = uid == 0 || uid == s->opt.admin_uid;

    if (admin)
        roles |= RPC_WHO_ADMIN | RPC_WHO_OPERATOR;
    if (local)
        roles |= RPC_WHO_LOCAL;
    if (local && (admin || uid == s->opt.node_uid || uid == geteuid()))
        roles |= RPC_WHO_DAEMON;
    return roles;
}

/* Sends the reason as far as the socket accepts it at once, and closes the connection, so a
   refusal keeps no state. */
static void turn_away(struct rpc_server *s, int fd, const char *peer, const char *why)
{
    _cleanup_str_ struct str body = STR_INIT, frame = STR_INIT;
    struct rpc_header h = {.version = RPC_VERSION, .flags = RPC_FLAG_REPLY | RPC_FLAG_ERROR};

    rpc_error_pack(ERR_BUSY, why, &body);
    h.body_len = (uint32_t)body.len;
    rpc_frame_append(&frame, &h, NULL, body.data);
    if (send(fd, frame.data, frame.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        /* The caller closed first or does not read; the connection is closed either way. */
    }
    close(fd);
    rpc_server_refused(s, peer, why);
}

static struct rpc_caller *add_caller(const struct rpc_caller *who, int fd)
{
    struct rpc_caller *c = mem_dup(who, sizeof(*who));

    DL_APPEND(c->server->callers, c);
    c->conn = rpc_conn_new(c->server->io, fd, RPC_BODY_MAX, &caller_ops, c);
    if (c->server->events.on_http)
        rpc_conn_take_http(c->conn);
    return c;
}

static void new_local(struct rpc_caller *who, int fd)
{
    struct rpc_caller *c;
    struct err err;

    if (auth_peer(fd, &who->who, &err) < 0) {
        turn_away(who->server, fd, "local", err.text);
        return;
    }
    snprintf(who->text, sizeof(who->text), "local uid %u", (unsigned)who->who.uid);
    who->roles = roles_of(who->server, who->who.uid, true);
    if (rpc_quota_local(who, &err) < 0) {
        turn_away(who->server, fd, who->text, err.text);
        return;
    }
    c = add_caller(who, fd);
    rpc_quota_payer(c, c->who.uid);
    /* A peer that does not authenticate may not hold a connection. */
    if (c->server->opt.refuse_plain)
        rpc_conn_expire(c->conn, RPC_STRANGER_TIMEOUT_MS);
}

void rpc_caller_new(struct rpc_server *s, int fd, bool local, const struct rpc_addr *addr)
{
    struct rpc_caller who = {.server = s, .local = local}, *c;

    if (local) {
        new_local(&who, fd);
        return;
    }
    rpc_addr_format(addr, who.text);
    rpc_net_tune(fd);
    c = add_caller(&who, fd);
    rpc_conn_accept(c->conn, &s->keys);
    rpc_quota_stranger(c, addr);
}

/* Frees the record only; its connection is already closed or has another owner. */
static void free_caller(struct rpc_caller *c)
{
    DL_DELETE(c->server->callers, c);
    rpc_bearer_free(c);
    rpc_quota_leave(c);
    free(c);
}

void rpc_caller_free(struct rpc_caller *c)
{
    if (c->session) {
        rpc_session_free(c->session); /* calls released(), which forgets the session */
        return;
    }
    rpc_conn_free(take_ptr(c->conn));
    rpc_calls_drop(c);
    free_caller(c);
}

static void on_closed(void *owner, const struct err *why)
{
    struct rpc_caller *c = owner;

    if (why->code == -ERR_TIMEOUT)
        rpc_server_refused(c->server, c->text, why->text);
    rpc_caller_free(c);
}

/* Sessions. */

static void session_opened(void *ctx, struct rpc_session *session, const char *name)
{
    struct rpc_caller *c = ctx;
    struct rpc_server *s = c->server;

    rpc_quota_session(c);
    if (s->events.on_session)
        s->events.on_session(s->events.ctx, session, name);
    else
        rpc_session_free(session);
}

static void session_refused(void *ctx, const char *why)
{
    struct rpc_caller *c = ctx;

    rpc_server_refused(c->server, c->text, why);
}

static void session_released(void *ctx)
{
    free_caller(ctx);
}

static int begin_session(struct rpc_caller *c, const struct rpc_frame *f, struct err *err)
{
    struct rpc_server *s = c->server;
    struct rpc_accept a = {
        .io = s->io,
        .conn = c->conn,
        .key = s->opt.key,
        .my_name = s->audience,
        .peer = c->text,
        .is_local = c->local,
        .accepts = s->opt.refuse_plain ? RPC_WHO_KEY : RPC_WHO_NODE,
        .opened = session_opened,
        .refused = session_refused,
        .released = session_released,
        .ctx = c,
    };
    int rc;

    if (c->open)
        return err_set(err, -ERR_PROTOCOL, "a session begins on a connection of its own");
    if (s->no_sessions.code) { /* the peer did nothing wrong, so this is not logged */
        rpc_caller_answer_error(c, f->header, s->no_sessions.code, s->no_sessions.text);
        rpc_conn_finish(c->conn);
        return 0;
    }
    rpc_conn_share(c->conn, NULL);
    rc = rpc_session_accept(&a, f, &c->session, err);
    if (rc == 0)
        c->conn = NULL;
    return rc;
}

/* Requests. */

/* Checks the header of a further frame of a request, under the key from the request's token. If
 * the request has ended, the frame is read and dropped, provided that the caller is an
 * authenticated user. */
static int on_more_head(struct rpc_caller *c, const struct rpc_header *h, struct err *err)
{
    const struct rpc_call *call = rpc_call_of(c, h->id);

    if (!c->server->events.on_more || h->flags != RPC_FLAG_MORE)
        return err_set(err, -ERR_PROTOCOL, "an answer where a request was expected");
    if (h->token_len != (rpc_caller_is_proved(c) ? 0 : AUTH_MAC_SIZE))
        return err_set(err, -ERR_AUTH, "more of a request needs a seal");
    if (!call && !c->counted)
        return err_set(err, -ERR_PROTOCOL, "more of a request that was not made here");
    return 0;
}

/* Checks the frame except for its body. The user of the token is charged for the input. */
static int check_token(struct rpc_caller *c, const struct rpc_frame *f, struct err *err)
{
    struct rpc_server *s = c->server;
    uid_t payer;
    int rc;

    if (f->header->token_len != AUTH_TOKEN_SIZE)
        return err_set(err, -ERR_AUTH, "a request over the network needs a token");
    rc = auth_token_precheck(s->opt.key, f->token, f->header->token_len, s->audience,
                             loop_wall_ms(), s->started_at_ms, &payer, err);
    if (rc == 0)
        rpc_quota_payer(c, payer);
    return rc;
}

static int on_head(void *owner, const struct rpc_frame *f, struct err *err)
{
    struct rpc_caller *c = owner;
    struct rpc_server *s = c->server;
    const struct rpc_header *h = f->header;
    int rc;

    if (c->bearer && (rc = rpc_bearer_check(c, h, err)) < 0)
        return rc;
    if (h->flags & RPC_FLAG_SESSION)
        return rpc_session_check_hello(h, err);
    if (h->rpc == s->limited.number && rpc_check_size(&s->limited, h->body_len, err) < 0)
        return -ERR_TOO_BIG;
    if (s->opt.refuse_plain)
        return err_set(err, -ERR_ACCESS, "only the step's own daemons are served here");
    if (h->flags)
        return on_more_head(c, h, err);
    if (c->local && h->token_len)
        return err_set(err, -ERR_PROTOCOL, "a token on the local socket");
    if (c->local)
        return 0;
    rc = c->bearer ? 0 : check_token(c, f, err);
    if (rc < 0)
        return rc;
    if (c->open == 0) /* the message has its own deadline */
        rpc_conn_expire(c->conn, RPC_IDLE_TIMEOUT_MS);
    return 0;
}

static int identify_caller(struct rpc_caller *c, const struct rpc_frame *f, unsigned *roles,
                           struct err *err)
{
    struct rpc_server *s = c->server;
    uint8_t hash[AUTH_HASH_SIZE];
    int rc;

    if (c->local) {
        *roles = c->roles;
        return 0;
    }
    if (c->bearer) {
        *roles = roles_of(s, c->who.uid, false);
        return rpc_quota_user(c, *roles, err);
    }
    rpc_frame_hash(f->header, f->body, hash);
    rc = auth_token_check(s->opt.key, f->token, f->header->token_len, s->audience, hash,
                          loop_wall_ms(), s->started_at_ms, s->replay, &c->who, err);
    if (rc < 0)
        return rc;
    *roles = roles_of(s, c->who.uid, false);
    return rpc_quota_user(c, *roles, err);
}

/* Refuses a well-formed request: replies with the error and reports it; the connection stays
   open. */
static void deny_request(struct rpc_caller *c, const struct rpc_frame *f, int code,
                         const char *text)
{
    char why[ERR_TEXT_MAX + 64];

    snprintf(why, sizeof(why), "uid %u: %s: %s", (unsigned)c->who.uid,
             rpc_find(f->header->rpc)->name, text);
    rpc_caller_deny(c, f, code, text);
    rpc_server_refused(c->server, c->text, why);
}

static void handle_request(struct rpc_caller *c, const struct rpc_frame *f, unsigned roles,
                           const ProtobufCMessage *body, struct arena *arena)
{
    struct rpc_server *s = c->server;
    struct rpc_request request = {
        .call = rpc_call_new(c, f)->number,
        .rpc = rpc_find(f->header->rpc),
        .body = body,
        .arena = arena,
        .who = c->who,
        .roles = roles,
        .peer = c->text,
        .by_jwt = c->bearer,
        .is_secret = c->local || rpc_conn_is_encrypted(c->conn),
        .frame = f,
    };

    s->events.on_request(s->events.ctx, &request);
}

/* Whether the user exceeds the rate limit. Requests for tokens are exempt: the request that uses
   the token is counted. */
static bool is_too_often(struct rpc_server *s, const struct rpc_info *rpc, unsigned roles,
                         uid_t uid)
{
    if (!s->rate || roles & (RPC_WHO_ADMIN | RPC_WHO_DAEMON) || rpc->number == RPC_MINT ||
        rpc_rate_take(s->rate, uid, 1, loop_mono_ms()))
        return false;
    s->rate_refused++;
    return true;
}

static int on_more(struct rpc_caller *c, const struct rpc_frame *f, struct err *err)
{
    const struct rpc_header *h = f->header;
    struct rpc_server *s = c->server;
    struct rpc_call *call = rpc_call_of(c, h->id);
    struct rpc_more more = {.rpc = rpc_find(h->rpc)};
    struct arena arena;

    if (!call)
        return 0;
    if (call->seal && rpc_seal_check(call->seal, h, f->body, f->token, err) < 0)
        return err->code;
    more.call = call->number;
    more.body = rpc_unpack(more.rpc, f->body, h->body_len, RPC_ARENA_FACTOR, &arena, err);
    if (more.body)
        s->events.on_more(s->events.ctx, &more);
    arena_done(&arena);
    return more.body ? 0 : err->code;
}

static int on_frame(void *owner, const struct rpc_frame *f, struct err *err)
{
    struct rpc_caller *c = owner;
    const struct rpc_header *h = f->header;
    const struct rpc_info *rpc = rpc_find(h->rpc);
    struct arena arena;
    ProtobufCMessage *body;
    unsigned roles = 0;
    int rc;

    if (h->flags & RPC_FLAG_SESSION)
        return begin_session(c, f, err);
    if (h->flags & RPC_FLAG_MORE)
        return on_more(c, f, err);
    rc = identify_caller(c, f, &roles, err);
    if (rc < 0)
        return rc;
    rpc_quota_used(c);
    if (!rpc_allowed(rpc, roles)) {
        deny_request(c, f, -ERR_ACCESS, err_text(ERR_ACCESS));
        return 0;
    }
    if (is_too_often(c->server, rpc, roles, c->who.uid)) {
        deny_request(c, f, -ERR_BACKOFF, err_text(ERR_BACKOFF));
        return 0;
    }
    if (c->open >= RPC_CALLS_PER_CONNECTION) {
        deny_request(c, f, -ERR_BUSY, "too many open requests on one connection");
        return 0;
    }
    /* The check comes last, so that a refused request takes no entry of the replay memory. */
    rc = rpc_caller_is_proved(c) ? 0
                                 : auth_token_use(f->token, loop_wall_ms(), c->server->replay, err);
    if (rc < 0)
        return rc;
    body = rpc_unpack(rpc, f->body, h->body_len, RPC_ARENA_FACTOR, &arena, err);
    if (body)
        handle_request(c, f, roles, body, &arena);
    arena_done(&arena);
    return body ? 0 : err->code;
}

static void on_http(void *owner, struct rpc_http *request, int status)
{
    struct rpc_caller *c = owner;
    const struct rpc_server *s = c->server;
    struct rpc_http_answer a = {.status = status == RPC_HTTP_OK ? 404 : status};
    _cleanup_str_ struct str text = STR_INIT;

    request->who = c->local ? &c->who : NULL;
    request->is_admin = c->local && c->roles & RPC_WHO_ADMIN;
    if (status == RPC_HTTP_OK && rpc_io_queued(s->io) > HTTP_QUEUED_MAX)
        a.status = 503;
    else if (status == RPC_HTTP_OK)
        s->events.on_http(s->events.ctx, request, &a);
    rpc_http_format(request, &a, &text);
    rpc_conn_send_bytes(c->conn, text.data, text.len);
    rpc_conn_finish(c->conn);
    str_done(&a.body);
    free(a.location);
}

static int on_jwt(void *owner, const void *signed_part, size_t len, struct err *err)
{
    return rpc_bearer_begin(owner, signed_part, len, err);
}

void rpc_caller_refuse(struct rpc_caller *c, const struct rpc_frame *f, const struct err *err)
{
    const struct rpc_header *h = f ? f->header : NULL;
    const struct rpc_info *rpc = h ? rpc_find(h->rpc) : NULL;
    char why[ERR_TEXT_MAX + 64];

    if (c->local)
        snprintf(why, sizeof(why), "uid %u: %s: %s", (unsigned)c->who.uid,
                 rpc ? rpc->name : "request", err->text);
    else
        snprintf(why, sizeof(why), "%s: %s", rpc ? rpc->name : "request", err->text);
    rpc_caller_answer_error(c, h, err->code, err->text);
    rpc_conn_finish(c->conn);
    rpc_server_refused(c->server, c->text, why);
}

static void on_caller_refused(void *owner, const struct rpc_frame *f, const struct err *err)
{
    rpc_caller_refuse(owner, f, err);
}

static void on_drained(void *owner)
{
    struct rpc_caller *c = owner;

    if (!c->bearer || !c->bearer->waits)
        rpc_conn_pause(c->conn, false);
    rpc_calls_drained(c);
}

/* The peer may wait for replies after it has shut down its sending side. */
static bool on_ended(void *owner)
{
    struct rpc_caller *c = owner;

    c->ended = true;
    if (c->open == 0 && rpc_conn_backlog(c->conn))
        rpc_conn_finish(c->conn);
    return c->open || rpc_conn_backlog(c->conn);
}

static const struct rpc_conn_ops caller_ops = {
    .on_head = on_head,
    .on_jwt = on_jwt,
    .on_frame = on_frame,
    .on_refused = on_caller_refused,
    .on_drained = on_drained,
    .on_ended = on_ended,
    .on_http = on_http,
    .on_closed = on_closed,
};
