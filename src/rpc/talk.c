/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/talk.h"

#include "base/arena.h"
#include "base/mem.h"
#include "rpc/seal.h"

struct rpc_talk {
    struct rpc_conn *conn;
    const struct rpc_info *rpc;
    uint64_t id;
    struct rpc_seal seal;
    struct rpc_talk_events events;
    bool refused;
};

static const struct rpc_conn_ops ops;

struct rpc_talk *rpc_talk_start(struct rpc_io *io, int fd, const struct rpc_header *header,
                                const struct rpc_minted *minted, const void *body,
                                const struct rpc_talk_events *events)
{
    struct rpc_talk *t = mem_new(struct rpc_talk);

    t->rpc = rpc_find(header->rpc);
    t->id = header->id;
    t->events = *events;
    rpc_seal_answers(&t->seal, &minted->answers, true);
    rpc_net_reset_on_close(fd);
    t->conn = rpc_conn_new(io, fd, RPC_BODY_MAX, &ops, t);
    rpc_conn_call(t->conn, &minted->channel, NULL);
    rpc_conn_send(t->conn, header, minted->token, body);
    return t;
}

void rpc_talk_send(struct rpc_talk *t, enum rpc_number rpc, const ProtobufCMessage *more)
{
    _cleanup_str_ struct str body = STR_INIT;
    uint8_t mac[AUTH_MAC_SIZE];
    struct rpc_header h = {.version = RPC_VERSION,
                           .rpc = (uint16_t)rpc,
                           .flags = RPC_FLAG_MORE,
                           .token_len = AUTH_MAC_SIZE,
                           .id = t->id};

    pb_pack(more, &body);
    h.body_len = (uint32_t)body.len;
    rpc_seal_sign(&t->seal, &h, str_cstr(&body), mac);
    rpc_conn_send(t->conn, &h, mac, str_cstr(&body));
}

void rpc_talk_drop(struct rpc_talk *t)
{
    if (!t)
        return;
    rpc_conn_free(t->conn);
    rpc_seal_done(&t->seal);
    free(t);
}

static int take_answer(struct rpc_talk *t, const struct rpc_frame *f, struct err *err)
{
    struct rpc_talk_events events = t->events;
    const struct rpc_header *h = f->header;
    bool last = !(h->flags & RPC_FLAG_MORE);
    struct arena arena;
    ProtobufCMessage *answer;

    arena_init(&arena, (size_t)h->body_len * RPC_REPLY_FACTOR + RPC_ARENA_EXTRA);
    answer = arena_unpack(&arena, t->rpc->reply, f->body, h->body_len);
    if (!answer)
        err_set(err, -ERR_PROTOCOL, "malformed answer to %s", t->rpc->name);
    else if (last)
        rpc_talk_drop(t);
    if (answer)
        events.on_answer(events.ctx, answer, last);
    arena_done(&arena);
    return answer ? 0 : err->code;
}

static int on_frame(void *owner, const struct rpc_frame *f, struct err *err)
{
    struct rpc_talk *t = owner;
    const struct rpc_header *h = f->header;
    int rc = rpc_seal_check_answer(&t->seal, h, f->body, f->token, err);

    if (rc < 0)
        return rc;
    if (h->flags == (RPC_FLAG_REPLY | RPC_FLAG_ERROR) && (h->id == t->id || h->id == 0)) {
        t->refused = true;
        return rpc_error_unpack(f->body, h->body_len, err);
    }
    if ((h->flags | RPC_FLAG_MORE) != (RPC_FLAG_REPLY | RPC_FLAG_MORE) || h->id != t->id ||
        h->rpc != t->rpc->number)
        return err_set(err, -ERR_PROTOCOL, "an answer that does not belong to the request");
    return take_answer(t, f, err);
}

static void fail_talk(struct rpc_talk *t, const struct err *err)
{
    struct rpc_talk_events events = t->events;
    struct err why = *err; /* copied, because the connection's own is freed with it */
    bool refused = t->refused;

    rpc_talk_drop(t);
    events.on_failed(events.ctx, &why, refused);
}

static void on_talk_refused(void *owner, const struct rpc_frame *f, const struct err *err)
{
    fail_talk(owner, err);
}

static void on_closed(void *owner, const struct err *why)
{
    fail_talk(owner, why);
}

static const struct rpc_conn_ops ops = {
    .on_frame = on_frame,
    .on_refused = on_talk_refused,
    .on_closed = on_closed,
};
