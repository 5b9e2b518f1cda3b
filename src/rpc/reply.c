/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Open calls and their replies. The reply to a call is also sent to calls with an equal request
 * that have joined it.
 */
#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rpc/reply.h"
#include "rpc/server_priv.h"

static void seal_of(const struct rpc_caller *c, const struct rpc_frame *f, struct rpc_seal *seal)
{
    struct auth_key answers;

    auth_answer_key(c->server->opt.key, f->token, &answers);
    rpc_seal_answers(seal, &answers, false);
    auth_key_done(&answers);
}

static struct rpc_call *add_call(struct rpc_caller *c, const struct rpc_info *rpc)
{
    struct rpc_server *s = c->server;
    struct rpc_call *call = mem_new(struct rpc_call);

    call->number = ++s->last_call;
    call->caller = c;
    call->rpc = rpc;
    DL_APPEND(c->calls, call);
    HASH_ADD(hh, s->calls, number, sizeof(call->number), call);
    if (c->open++ == 0 && !c->local)
        rpc_conn_expire(c->conn, -1);
    if (c->bearer)
        rpc_bearer_watch(c);
    return call;
}

struct rpc_call *rpc_call_new(struct rpc_caller *c, const struct rpc_frame *f)
{
    struct rpc_call *call = add_call(c, rpc_find(f->header->rpc));

    call->request_id = f->header->id;
    if (!rpc_caller_is_proved(c)) {
        call->seal = mem_new(struct rpc_seal);
        seal_of(c, f, call->seal);
    }
    return call;
}

struct rpc_call *rpc_call_of(struct rpc_caller *c, uint64_t request_id)
{
    struct rpc_call *call;

    DL_FOREACH(c->calls, call)
    {
        if (!call->inner && call->request_id == request_id)
            return call;
    }
    return NULL;
}

struct rpc_call *rpc_call_find(struct rpc_server *s, uint64_t number)
{
    struct rpc_call *call;

    HASH_FIND(hh, s->calls, &number, sizeof(number), call);
    return call;
}

bool rpc_call_is_open(struct rpc_server *s, uint64_t number)
{
    return rpc_call_find(s, number);
}

static void free_call(struct rpc_call *call)
{
    struct rpc_caller *c = call->caller;

    HASH_DELETE(hh, c->server->calls, call);
    DL_DELETE(c->calls, call);
    c->open--;
    if (call->seal)
        rpc_seal_done(call->seal);
    free(call->seal);
    free(call->inner);
    free(call);
}

void rpc_call_drop(struct rpc_server *s, struct rpc_call *call)
{
    uint64_t number = call->number;

    free_call(call);
    if (s->events.on_gone && !s->freeing)
        s->events.on_gone(s->events.ctx, number);
}

void rpc_calls_drop(struct rpc_caller *c)
{
    while (c->calls)
        rpc_call_drop(c->server, c->calls);
}

void rpc_call_inner_drop(struct rpc_server *s, uint64_t number)
{
    struct rpc_call *call = rpc_call_find(s, number);

    if (call && call->inner)
        rpc_call_drop(s, call);
}

void rpc_calls_drained(struct rpc_caller *c)
{
    struct rpc_server *s = c->server;
    uint64_t ready[RPC_CALLS_PER_CONNECTION];
    unsigned count = 0;
    struct rpc_call *call;

    /* Collects numbers, because a handler may end any of the calls. */
    DL_FOREACH(c->calls, call)
    {
        if (call->wants_drain && count < RPC_CALLS_PER_CONNECTION) {
            call->wants_drain = false;
            ready[count++] = call->number;
        }
    }
    for (unsigned i = 0; i < count; i++)
        if (s->events.on_drained && rpc_call_find(s, ready[i]))
            s->events.on_drained(s->events.ctx, ready[i]);
}

static void send_answer(struct rpc_caller *c, struct rpc_seal *seal, unsigned rpc, unsigned flags,
                        uint64_t id, const void *body, size_t len)
{
    uint8_t mac[AUTH_MAC_SIZE];
    struct rpc_header h = {
        .version = RPC_VERSION,
        .rpc = (uint16_t)rpc,
        .flags = (uint16_t)(RPC_FLAG_REPLY | flags),
        .token_len = seal ? AUTH_MAC_SIZE : 0,
        .body_len = (uint32_t)len,
        .id = id,
    };

    if (seal)
        rpc_seal_sign(seal, &h, body, mac);
    rpc_conn_send(c->conn, &h, seal ? mac : NULL, body);
    /* A caller that does not read replies may send no further requests. */
    if (rpc_conn_backlog(c->conn) > RPC_SESSION_HIGH)
        rpc_conn_pause(c->conn, true);
}

void rpc_caller_answer_error(struct rpc_caller *c, const struct rpc_header *h, int code,
                             const char *text)
{
    _cleanup_str_ struct str body = STR_INIT;

    rpc_error_pack(code, text, &body);
    send_answer(c, NULL, h ? h->rpc : 0, RPC_FLAG_ERROR, h ? h->id : 0, body.data, body.len);
}

void rpc_caller_deny(struct rpc_caller *c, const struct rpc_frame *f, int code, const char *text)
{
    _cleanup_str_ struct str body = STR_INIT;
    struct rpc_seal seal;

    if (!rpc_caller_is_proved(c))
        seal_of(c, f, &seal);
    rpc_error_pack(code, text, &body);
    send_answer(c, rpc_caller_is_proved(c) ? NULL : &seal, f->header->rpc, RPC_FLAG_ERROR,
                f->header->id, body.data, body.len);
    if (!rpc_caller_is_proved(c))
        rpc_seal_done(&seal);
}

static void end_call(struct rpc_call *call)
{
    struct rpc_caller *c = call->caller;

    free_call(call);
    if (c->open == 0 && c->ended)
        rpc_conn_finish(c->conn);
    else if (c->open == 0 && !c->local)
        rpc_conn_expire(c->conn, RPC_IDLE_TIMEOUT_MS);
}

/* Delivers the reply of an inner request. */
static void end_inner(struct rpc_call *call, int code, const void *answer, size_t len)
{
    struct rpc_inner inner = *call->inner;

    end_call(call);
    inner.answered(inner.ctx, code, answer, len);
}

static int check_inner(const struct rpc_inner *inner, const struct rpc_info *rpc,
                       struct arena *arena, ProtobufCMessage **body, struct err *err)
{
    arena_init(arena, 0);
    if (!rpc)
        return err_set(err, -ERR_PROTOCOL, "unknown request number %u", inner->rpc);
    if (!rpc_allowed(rpc, inner->roles))
        return err_set(err, -ERR_ACCESS, "%s", err_text(ERR_ACCESS));
    *body = rpc_unpack(rpc, inner->body, inner->len, RPC_ARENA_FACTOR, arena, err);
    return *body ? 0 : err->code;
}

uint64_t rpc_call_inner(struct rpc_server *s, const struct rpc_inner *inner)
{
    const struct rpc_info *rpc = rpc_find(inner->rpc);
    struct rpc_call *outer = rpc_call_find(s, inner->outer), *call;
    struct arena arena;
    ProtobufCMessage *body;
    uint64_t number = 0;
    struct err err;

    if (!outer)
        return 0;
    if (check_inner(inner, rpc, &arena, &body, &err) < 0) {
        inner->answered(inner->ctx, -err.code, err.text, strlen(err.text));
    } else {
        call = add_call(outer->caller, rpc);
        call->inner = mem_dup(inner, sizeof(*inner));
        number = call->number;
        struct rpc_request request = {.call = number,
                                      .rpc = rpc,
                                      .body = body,
                                      .arena = &arena,
                                      .who = inner->who,
                                      .roles = inner->roles,
                                      .peer = inner->peer,
                                      .prepare = inner->prepare};
        s->events.on_request(s->events.ctx, &request);
    }
    arena_done(&arena);
    return rpc_call_find(s, number) ? number : 0;
}

static void tell_prepared(struct rpc_server *s, uint64_t number)
{
    struct rpc_call *call = rpc_call_find(s, number);

    if (call && call->inner && call->inner->prepared)
        call->inner->prepared(call->inner->ctx);
}

void rpc_prepared(struct rpc_server *s, uint64_t number)
{
    uint64_t others[RPC_SAME_MAX];
    size_t count = rpc_same_list(s, number, others, false);

    tell_prepared(s, number);
    for (size_t i = 0; i < count; i++)
        tell_prepared(s, others[i]);
}

static void reply_error(struct rpc_server *s, uint64_t number, int code, const char *text)
{
    struct rpc_call *call = rpc_call_find(s, number);
    _cleanup_str_ struct str body = STR_INIT;

    if (!call)
        return;
    if (call->inner) {
        text = text && *text ? text : err_text(code);
        end_inner(call, code < 0 ? -code : code, text, strlen(text));
        return;
    }
    rpc_error_pack(code, text, &body);
    send_answer(call->caller, call->seal, call->rpc->number, RPC_FLAG_ERROR, call->request_id,
                body.data, body.len);
    end_call(call);
}

void rpc_reply_error(struct rpc_server *s, uint64_t number, int code, const char *text)
{
    uint64_t others[RPC_SAME_MAX];
    size_t count = rpc_same_list(s, number, others, true);

    reply_error(s, number, code, text);
    for (size_t i = 0; i < count; i++)
        reply_error(s, others[i], code, text);
}

/* Whether the replies exceed the limits. A message of any size fits behind the backlog at which a
 * connection may still send requests. The replies of one user are added up only if the total is
 * large. */
static bool exceeds_reply_memory(const struct rpc_caller *c, size_t len)
{
    size_t waiting = rpc_conn_backlog(c->conn);
    const struct rpc_caller *other;

    static_assert(RPC_UNREAD_EACH >= RPC_BODY_MAX + RPC_SESSION_HIGH, "or a large one is refused");
    if (!c->user || !len || c->who.uid == 0 || c->who.uid == c->server->opt.admin_uid)
        return false;
    if (waiting && waiting + len > RPC_UNREAD_EACH)
        return true;
    if (rpc_io_queued(c->server->io) + len <= RPC_STALL_PRESSED)
        return false;
    waiting = 0;
    DL_FOREACH2(c->user->served, other, served_next)
    waiting += other->conn ? rpc_conn_backlog(other->conn) : 0;
    return waiting && waiting + len > RPC_UNREAD_MAX;
}

static void reply_bytes(struct rpc_server *s, uint64_t number, const void *data, size_t len,
                        bool more)
{
    struct rpc_call *call = rpc_call_find(s, number);

    if (!call)
        return;
    if (len > RPC_BODY_MAX) {
        reply_error(s, number, -ERR_TOO_BIG, "the answer is larger than a message may be");
        return;
    }
    if (call->inner && more) {
        reply_error(s, number, -ERR_NOT_SUPPORTED, "an answer in parts does not fit in another");
        return;
    }
    if (call->inner) {
        end_inner(call, 0, data, len);
        return;
    }
    if (exceeds_reply_memory(call->caller, len)) {
        reply_error(s, number, -ERR_BUSY, "too many answers wait for their caller to read them");
        return;
    }
    send_answer(call->caller, call->seal, call->rpc->number, more ? RPC_FLAG_MORE : 0,
                call->request_id, data, len);
    if (more)
        call->wants_drain = true;
    else
        end_call(call);
}

void rpc_reply_bytes(struct rpc_server *s, uint64_t number, const void *data, size_t len, bool more)
{
    uint64_t others[RPC_SAME_MAX];
    size_t count = rpc_same_list(s, number, others, !more);

    reply_bytes(s, number, data, len, more);
    for (size_t i = 0; i < count; i++)
        reply_bytes(s, others[i], data, len, more);
}

void rpc_reply(struct rpc_server *s, uint64_t number, const ProtobufCMessage *reply)
{
    _cleanup_str_ struct str body = STR_INIT;

    if (!rpc_call_find(s, number) && !s->same)
        return;
    pb_pack(reply, &body);
    rpc_reply_bytes(s, number, body.data, body.len, false);
}

size_t rpc_backlog(struct rpc_server *s, uint64_t number)
{
    struct rpc_call *call = rpc_call_find(s, number);

    return call ? rpc_conn_backlog(call->caller->conn) : 0;
}

void rpc_server_fail_calls(struct rpc_server *s, int code, const char *text)
{
    size_t count = 0;
    _cleanup_free_ uint64_t *numbers = mem_new_array(uint64_t, HASH_COUNT(s->calls) + 1);

    /* Collects numbers, because a reply may close a connection and end its other calls. */
    for (const struct rpc_call *call = s->calls; call; call = call->hh.next)
        numbers[count++] = call->number;
    for (size_t i = 0; i < count; i++)
        rpc_reply_error(s, numbers[i], code, text);
}

struct rpc_same {
    uint64_t first; /* the first call, which may have ended */
    VEC(uint64_t) others;
    UT_hash_handle hh;
};

static struct rpc_same *find_same(struct rpc_server *s, uint64_t first)
{
    struct rpc_same *same;

    HASH_FIND(hh, s->same, &first, sizeof(first), same);
    return same;
}

static void forget_same(struct rpc_server *s, struct rpc_same *same)
{
    HASH_DELETE(hh, s->same, same);
    vec_done(&same->others);
    free(same);
}

void rpc_call_join(struct rpc_server *s, uint64_t first, uint64_t other)
{
    struct rpc_same *same = find_same(s, first);

    if (first == other)
        return;
    if (!same) {
        same = mem_new(struct rpc_same);
        same->first = first;
        HASH_ADD(hh, s->same, first, sizeof(same->first), same);
    }
    if (same->others.len == RPC_SAME_MAX)
        vec_remove(&same->others, 0);
    vec_push(&same->others, other);
}

bool rpc_call_is_joined(struct rpc_server *s, uint64_t first, uint64_t other)
{
    struct rpc_same *same = find_same(s, first);

    for (size_t i = 0; same && i < same->others.len; i++)
        if (same->others.data[i] == other)
            return true;
    return first == other;
}

uint64_t rpc_call_heir(struct rpc_server *s, uint64_t first)
{
    struct rpc_same *same = find_same(s, first);
    uint64_t heir = 0;

    for (size_t i = 0; same && i < same->others.len; i++) {
        uint64_t other = same->others.data[i];

        if (heir)
            rpc_call_join(s, heir, other);
        else if (rpc_call_find(s, other))
            heir = other;
    }
    if (same)
        forget_same(s, same);
    return heir;
}

size_t rpc_same_list(struct rpc_server *s, uint64_t first, uint64_t others[RPC_SAME_MAX], bool take)
{
    struct rpc_same *same = s->same ? find_same(s, first) : NULL;
    size_t count = same ? same->others.len : 0;

    for (size_t i = 0; i < count; i++)
        others[i] = same->others.data[i];
    if (same && take)
        forget_same(s, same);
    return count;
}

void rpc_same_forget_all(struct rpc_server *s)
{
    while (s->same)
        forget_same(s, s->same);
}
