/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/once.h"

#include "base/arena.h"
#include "base/mem.h"
#include "rpc/mint.h"
#include "rpc/seal.h"

struct rpc_once {
    struct rpc_conn *conn;
    const struct rpc_info *rpc;
    uint64_t id;
    bool sealed;  /* the reply must be authenticated */
    int *kept_fd; /* NULL: the connection is always closed */
    struct rpc_seal answers;
    rpc_once_fn *done;
    void *ctx;
};

static const struct rpc_conn_ops ops;

struct rpc_once *rpc_once_start(struct rpc_io *io, int fd, const struct rpc_header *h,
                                const struct rpc_minted *minted, const void *body,
                                rpc_once_fn *done, void *ctx)
{
    struct rpc_once *o = mem_new(struct rpc_once);

    o->rpc = rpc_find(h->rpc);
    o->id = h->id;
    o->done = done;
    o->ctx = ctx;
    rpc_net_reset_on_close(fd);
    o->conn = rpc_conn_new(io, fd, RPC_BODY_MAX, &ops, o);
    o->sealed = h->token_len != 0;
    if (o->sealed)
        rpc_seal_answers(&o->answers, &minted->answers, true);
    if (minted)
        rpc_conn_call(o->conn, &minted->channel, rpc_minted_jwt(minted));
    rpc_conn_send(o->conn, h, minted ? minted->token : NULL, body);
    return o;
}

void rpc_once_keep(struct rpc_once *o, int *fd)
{
    o->kept_fd = fd;
}

void rpc_once_drop(struct rpc_once *o)
{
    if (!o)
        return;
    rpc_conn_free(o->conn);
    free(o);
}

static void finish_once(struct rpc_once *o, int code, const ProtobufCMessage *reply,
                        const struct err *err)
{
    rpc_once_fn *done = o->done;
    void *ctx = o->ctx;

    if (reply && o->kept_fd && *o->kept_fd < 0)
        *o->kept_fd = rpc_conn_release(o->conn);
    rpc_once_drop(o);
    done(ctx, code, reply, err);
}

static int on_frame(void *owner, const struct rpc_frame *f, struct err *err)
{
    struct rpc_once *o = owner;
    const struct rpc_header *h = f->header;
    struct arena arena;
    ProtobufCMessage *reply;
    int rc = rpc_seal_check_answer(o->sealed ? &o->answers : NULL, h, f->body, f->token, err);

    if (rc < 0)
        return rc;
    if ((h->flags & (RPC_FLAG_REPLY | RPC_FLAG_ERROR)) == (RPC_FLAG_REPLY | RPC_FLAG_ERROR) &&
        (h->id == o->id || h->id == 0))
        return rpc_error_unpack(f->body, h->body_len, err);
    if (h->flags != RPC_FLAG_REPLY || h->id != o->id || h->rpc != o->rpc->number)
        return err_set(err, -ERR_PROTOCOL, "an answer that does not belong to the request");
    arena_init(&arena, (size_t)h->body_len * RPC_REPLY_FACTOR + RPC_ARENA_EXTRA);
    reply = arena_unpack(&arena, o->rpc->reply, f->body, h->body_len);
    if (reply)
        finish_once(o, 0, reply, &(struct err){0});
    arena_done(&arena);
    return reply ? 0 : err_set(err, -ERR_PROTOCOL, "malformed answer to %s", o->rpc->name);
}

static void on_once_refused(void *owner, const struct rpc_frame *f, const struct err *err)
{
    struct err why = *err; /* copied, because the connection's own is freed with it */

    finish_once(owner, why.code, NULL, &why);
}

static void on_once_closed(void *owner, const struct err *err)
{
    struct err why = *err;

    finish_once(owner, why.code, NULL, &why);
}

static const struct rpc_conn_ops ops = {
    .on_frame = on_frame,
    .on_refused = on_once_refused,
    .on_closed = on_once_closed,
};
