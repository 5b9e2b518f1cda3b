/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request to many nodes. */
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "rpc/client.h"
#include "rpc/dial.h"
#include "rpc/mint.h"
#include "rpc/once.h"

#define PARALLEL 256 /* nodes at a time: well below the usual limit of file descriptors */
#define MINT_PATIENCE_MS 5000

struct target {
    struct rpc_fanout *fanout;
    char *node, *addr;
    uint16_t port;
    bool here;
    int fd; /* connection to its local socket; -1: none */
    struct rpc_dial *dial;
    struct rpc_once *once;
    struct loop_timer *limit; /* runs while the target is being asked */
};

struct rpc_fanout {
    struct loop *loop;
    const struct conf *conf;
    struct rpc_io *io;
    const struct rpc_info *rpc;
    struct str body;
    struct rpc_header header;
    struct rpc_minted *minted; /* one per target */
    struct target *targets;
    size_t count, next, active;
    int64_t timeout_ms;
    struct loop_timer *step;
    rpc_node_done_fn *done;
    void *ctx;
    bool in_step, is_freed;
};

static void on_step(void *ctx);

struct rpc_fanout *rpc_fanout_start(struct loop *l, const struct conf *conf,
                                    const struct rpc_node_target *targets, size_t count,
                                    enum rpc_number number, const ProtobufCMessage *request,
                                    int64_t timeout_ms, rpc_node_done_fn *done, void *ctx)
{
    struct rpc_fanout *f = mem_new(struct rpc_fanout);

    f->loop = l;
    f->conf = conf;
    rpc_set_connect_timeout(conf->tcp_timeout_sec * 1000);
    f->io = rpc_io_new(l);
    f->rpc = rpc_find(number);
    f->done = done;
    f->ctx = ctx;
    f->timeout_ms = timeout_ms ? timeout_ms : conf->message_timeout_sec * 1000;
    f->targets = mem_new_array(struct target, count);
    f->count = count;
    for (size_t i = 0; i < count; i++)
        f->targets[i] = (struct target){
            .fanout = f,
            .node = mem_strdup(targets[i].node),
            .addr = mem_strdup(targets[i].addr),
            .port = targets[i].port,
            .here = targets[i].here,
            .fd = targets[i].here && targets[i].fd ? take_fd(targets[i].fd) : -1,
        };
    pb_pack(request, &f->body);
    f->header = (struct rpc_header){
        .version = RPC_VERSION,
        .rpc = (uint16_t)number,
        .token_len = AUTH_TOKEN_SIZE,
        .body_len = (uint32_t)f->body.len,
        .id = 1,
    };
    f->step = loop_timer_new(l, on_step, f);
    loop_timer_set(f->step, 0);
    return f;
}

static void stop_target(struct target *t)
{
    rpc_dial_drop(take_ptr(t->dial));
    rpc_once_drop(take_ptr(t->once));
    if (t->limit)
        loop_timer_free(take_ptr(t->limit));
    if (t->fd >= 0)
        close(take_fd(&t->fd));
}

void rpc_fanout_free(struct rpc_fanout *f)
{
    if (!f || f->is_freed)
        return;
    for (size_t i = 0; i < f->count; i++)
        stop_target(&f->targets[i]);
    if (f->in_step) {
        f->is_freed = true;
        return;
    }
    for (size_t i = 0; i < f->count; i++) {
        free(f->targets[i].node);
        free(f->targets[i].addr);
    }
    free(f->targets);
    rpc_minted_free(f->minted, f->count);
    str_done(&f->body);
    loop_timer_free(f->step);
    rpc_io_free(f->io);
    free(f);
}

/* Calls done(); the fanout may be gone afterwards. */
static void finish_target(struct target *t, int code, const ProtobufCMessage *reply,
                          const struct err *err)
{
    struct rpc_fanout *f = t->fanout;
    struct err why = *err;

    why.code = code;
    stop_target(t);
    f->active--;
    if (f->next < f->count)
        loop_timer_set(f->step, 0);
    if (code < 0)
        err_prefix(&why, "%s (%s:%u)", t->node, t->addr, t->port);
    f->done(f->ctx, (size_t)(t - f->targets), code, reply, &why);
}

static void on_fanout_limit(void *ctx)
{
    struct err err;

    err_set(&err, -ERR_TIMEOUT, "%s", err_text(ERR_TIMEOUT));
    finish_target(ctx, err.code, NULL, &err);
}

static void on_answer(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct target *t = ctx;

    t->once = NULL;
    finish_target(t, code, reply, err);
}

static void on_dialled(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                       const struct err *err)
{
    struct target *t = ctx;
    struct rpc_fanout *f = t->fanout;

    t->dial = NULL;
    if (fd < 0)
        finish_target(t, -ERR_CONNECT, NULL, err);
    else
        t->once = rpc_once_start(f->io, fd, &f->header, &f->minted[t - f->targets], f->body.data,
                                 on_answer, t);
}

static void enter_fanout(struct rpc_fanout *f, struct target *t)
{
    f->active++;
    t->limit = loop_timer_new(f->loop, on_fanout_limit, t);
    if (f->timeout_ms > 0)
        loop_timer_set(t->limit, f->timeout_ms);
}

/* Returns the connection already open to the local socket if it is still usable, or a new one; -1:
   none. */
static int open_local_connection(struct rpc_fanout *f, struct target *t)
{
    _cleanup_free_ char *name = conf_socket_node(t->node);
    struct rpc_wire w = {.fd = t->fd};
    struct err err;

    if (rpc_wire_is_fresh(&w))
        return take_fd(&t->fd);
    w.fd = -1;
    rpc_open_here(f->conf, name, &w, 0, &err);
    return w.fd;
}

/* Starts the request over the local socket. False: the target must be asked by TCP. */
static bool begin_here(struct rpc_fanout *f, struct target *t)
{
    struct rpc_header header = f->header;
    int fd;

    if (!t->here || rpc_check_size(rpc_find(header.rpc), f->body.len, NULL) < 0 ||
        !rpc_local_socket_wanted())
        return false;
    fd = open_local_connection(f, t);
    if (fd < 0)
        return false;
    header.token_len = 0;
    enter_fanout(f, t);
    t->once = rpc_once_start(f->io, fd, &header, NULL, f->body.data, on_answer, t);
    return true;
}

static void begin_target(struct rpc_fanout *f, struct target *t)
{
    struct rpc_target to = {t->addr, t->port};

    enter_fanout(f, t);
    t->dial = rpc_dial_start(f->loop, &to, 1, f->conf->message_timeout_sec * 1000, on_dialled, t);
}

static int mint_all(struct rpc_fanout *f, struct err *err)
{
    _cleanup_free_ const char **audiences = mem_new_array(const char *, f->count);
    uint8_t hash[AUTH_HASH_SIZE];

    if (rpc_check_size(rpc_find(f->header.rpc), f->body.len, err) < 0)
        return err->code;
    for (size_t i = 0; i < f->count; i++)
        audiences[i] = f->targets[i].node;
    rpc_frame_hash(&f->header, f->body.data, hash);
    return rpc_mint(f->conf, hash, audiences, f->count, rpc_wire_now_ms() + MINT_PATIENCE_MS,
                    &f->minted, err);
}

static void on_step(void *ctx)
{
    struct rpc_fanout *f = ctx;
    struct err err;

    if (f->count == 1 && f->next == 0 && begin_here(f, f->targets)) {
        f->next = 1;
        return;
    }
    if (!f->minted && f->next < f->count && mint_all(f, &err) < 0) {
        /* No target can be asked: all get the same answer. */
        f->in_step = true;
        for (; f->next < f->count && !f->is_freed; f->next++)
            f->done(f->ctx, f->next, err.code, NULL, &err);
        f->in_step = false;
        if (f->is_freed) {
            f->is_freed = false;
            rpc_fanout_free(f);
        }
        return;
    }
    while (f->next < f->count && f->active < PARALLEL)
        begin_target(f, &f->targets[f->next++]);
}
