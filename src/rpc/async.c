/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call to the controllers on the loop. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "rpc/client.h"
#include "rpc/dial.h"
#include "rpc/mint.h"
#include "rpc/once.h"

#define BUSY_PAUSE_MS 5
#define MINT_PATIENCE_MS 2000 /* the loop stands still meanwhile; a local daemon takes 0.1 ms */

struct rpc_async {
    struct loop *loop;
    const struct conf *conf;
    struct rpc_io *io;
    const struct rpc_info *rpc;
    struct str body, tried;
    struct loop_timer *step, *limit;
    struct rpc_dial *dial;
    struct rpc_once *once;
    size_t place; /* as in client.c: 0 the local socket, then the controllers */
    char place_text[300];
    rpc_done_fn *done;
    void *ctx;
};

static void on_step(void *ctx);
static void on_limit(void *ctx);

struct rpc_async *rpc_async_controller(struct loop *l, const struct conf *conf,
                                       enum rpc_number number, const ProtobufCMessage *request,
                                       int64_t timeout_ms, rpc_done_fn *done, void *ctx)
{
    struct rpc_async *a = mem_new(struct rpc_async);

    a->loop = l;
    a->conf = conf;
    a->io = rpc_io_new(l);
    a->rpc = rpc_find(number);
    a->done = done;
    a->ctx = ctx;
    pb_pack(request, &a->body);
    a->step = loop_timer_new(l, on_step, a);
    a->limit = loop_timer_new(l, on_limit, a);
    loop_timer_set(a->step, 0);
    if (timeout_ms == 0)
        timeout_ms = conf->message_timeout_sec * 1000;
    if (timeout_ms > 0)
        loop_timer_set(a->limit, timeout_ms);
    return a;
}

void rpc_async_drop(struct rpc_async *a)
{
    if (!a)
        return;
    rpc_dial_drop(a->dial);
    rpc_once_drop(a->once);
    loop_timer_free(a->step);
    loop_timer_free(a->limit);
    rpc_io_free(a->io);
    str_done(&a->body);
    str_done(&a->tried);
    free(a);
}

static void finish(struct rpc_async *a, int code, const ProtobufCMessage *reply,
                   const struct err *err)
{
    rpc_done_fn *done = a->done;
    void *ctx = a->ctx;

    rpc_async_drop(a);
    done(ctx, code, reply, err);
}

static void on_limit(void *ctx)
{
    struct err err;

    err_set(&err, -ERR_TIMEOUT, "%s", err_text(ERR_TIMEOUT));
    finish(ctx, err.code, NULL, &err);
}

static void next_place(struct rpc_async *a, const char *why)
{
    if (why)
        str_printf(&a->tried, "%s%s%s%s", a->tried.len ? "; " : "", a->place_text,
                   a->place_text[0] ? ": " : "", why);
    a->place++;
    loop_timer_set(a->step, 0);
}

static void on_answer(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct rpc_async *a = ctx;

    a->once = NULL;
    if (code == -ERR_STANDBY)
        next_place(a, err->text);
    else
        finish(a, code, reply, err);
}

static void send_to(struct rpc_async *a, int fd)
{
    uint8_t(*token)[AUTH_TOKEN_SIZE] = NULL;
    struct err err;
    struct rpc_header h = {
        .version = RPC_VERSION,
        .rpc = a->rpc->number,
        .token_len = a->place == 0 ? 0 : AUTH_TOKEN_SIZE,
        .body_len = (uint32_t)a->body.len,
        .id = 1,
    };

    if (h.token_len) {
        const char *audience = "slurmctld";
        uint8_t hash[AUTH_HASH_SIZE];
        rpc_frame_hash(&h, a->body.data, hash);
        if (rpc_mint(a->conf, hash, &audience, 1, rpc_wire_now_ms() + MINT_PATIENCE_MS, &token,
                     &err) < 0) {
            close(fd);
            finish(a, err.code, NULL, &err);
            return;
        }
    }
    a->once = rpc_once_start(a->io, fd, &h, token, a->body.data, on_answer, a);
    free(token);
}

static void on_dialled(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                       const struct err *err)
{
    struct rpc_async *a = ctx;

    a->dial = NULL;
    if (fd >= 0) {
        send_to(a, fd);
        return;
    }
    a->place_text[0] = '\0'; /* the reason names it */
    next_place(a, err->text);
}

static void try_local(struct rpc_async *a)
{
    _cleanup_free_ char *path = conf_socket_path(a->conf, "slurmctld", NULL);
    struct rpc_wire w = {.fd = -1};
    uid_t trusted[RPC_TRUSTED_COUNT];
    struct err err;
    int rc;

    rpc_trusted_uids(a->conf, trusted);
    rc = rpc_wire_open_local(&w, path, trusted, RPC_TRUSTED_COUNT, 0, &err);
    snprintf(a->place_text, sizeof(a->place_text), "%s", path);
    if (rc == 0)
        send_to(a, w.fd);
    else if (rc == -EAGAIN)
        loop_timer_set(a->step, BUSY_PAUSE_MS);
    else
        next_place(a, rc == -ENOENT || rc == -ECONNREFUSED ? NULL : err.text);
}

static void on_step(void *ctx)
{
    struct rpc_async *a = ctx;
    const struct conf *conf = a->conf;
    struct err err;

    if (a->body.len > RPC_BODY_MAX) {
        err_set(&err, -ERR_TOO_BIG, "the request has %zu bytes, at most %u can be sent",
                a->body.len, RPC_BODY_MAX);
        finish(a, err.code, NULL, &err);
        return;
    }
    if (a->place == 0 && rpc_local_socket_wanted()) {
        try_local(a);
        return;
    }
    if (a->place == 0)
        a->place = 1;
    if (a->place <= conf->controllers.len) {
        struct rpc_target t = {conf->controllers.data[a->place - 1].addr, conf->slurmctld_port};
        snprintf(a->place_text, sizeof(a->place_text), "%s:%u", t.addr, t.port);
        a->dial = rpc_dial_start(a->loop, &t, 1, conf->message_timeout_sec * 1000, on_dialled, a);
        return;
    }
    err_set(&err, -ERR_CONNECT, "%s (tried %s)", err_text(ERR_CONNECT), str_cstr(&a->tried));
    finish(a, err.code, NULL, &err);
}
