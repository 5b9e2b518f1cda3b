/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/keyed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "rpc/dial.h"
#include "rpc/mint.h"
#include "rpc/once.h"

struct rpc_keyed {
    const struct auth_key *key;
    struct rpc_io *io;
    struct rpc_header header;
    struct str body;
    char *audience, *where;
    struct rpc_dial *dial;
    struct rpc_once *once;
    struct loop_timer *limit;
    rpc_done_fn *done;
    void *ctx;
};

void rpc_keyed_drop(struct rpc_keyed *k)
{
    if (!k)
        return;
    rpc_dial_drop(k->dial);
    rpc_once_drop(k->once);
    loop_timer_free(k->limit);
    rpc_io_free(k->io);
    str_done(&k->body);
    free(k->audience);
    free(k->where);
    free(k);
}

static void finish_keyed(struct rpc_keyed *k, int code, const ProtobufCMessage *reply,
                         const struct err *err)
{
    struct err why = *err;
    rpc_done_fn *done = k->done;
    void *ctx = k->ctx;

    if (code < 0 && !strstr(why.text, k->where)) /* errors of a dial already name the address */
        err_prefix(&why, "%s", k->where);
    rpc_keyed_drop(k);
    done(ctx, code, reply, &why);
}

static void on_keyed_limit(void *ctx)
{
    struct err err = {0};

    err_set(&err, -ERR_TIMEOUT, "%s", err_text(ERR_TIMEOUT));
    finish_keyed(ctx, err.code, NULL, &err);
}

static void on_keyed_answer(void *ctx, int code, const ProtobufCMessage *reply,
                            const struct err *err)
{
    struct rpc_keyed *k = ctx;

    k->once = NULL;
    finish_keyed(k, code, reply, err);
}

static void on_keyed_dialled(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                             const struct err *err)
{
    struct rpc_keyed *k = ctx;
    struct auth_identity who = {.uid = geteuid(), .gid = getegid()};
    uint8_t hash[AUTH_HASH_SIZE];
    struct rpc_minted minted;

    k->dial = NULL;
    if (fd < 0) {
        finish_keyed(k, err->code, NULL, err);
        return;
    }
    if (gethostname(who.host, sizeof(who.host) - 1) < 0 || !who.host[0])
        snprintf(who.host, sizeof(who.host), "localhost");
    rpc_frame_hash(&k->header, k->body.data, hash);
    auth_token_mint(k->key, &who, k->audience, hash, loop_wall_ms(), AUTH_TTL_MS, minted.token);
    rpc_minted_fill(&minted, k->key);
    k->once = rpc_once_start(k->io, fd, &k->header, &minted, k->body.data, on_keyed_answer, k);
    mem_wipe(&minted, sizeof(minted));
}

struct rpc_keyed *rpc_keyed_call(struct loop *l, const struct rpc_keyed_request *r,
                                 rpc_done_fn *done, void *ctx)
{
    struct rpc_keyed *k = mem_new(struct rpc_keyed);
    struct rpc_target to = {r->addr, r->port};

    k->key = r->key;
    k->io = rpc_io_new(l);
    k->audience = mem_strdup(r->audience);
    k->where = mem_printf("%s:%u", r->addr, r->port);
    k->done = done;
    k->ctx = ctx;
    pb_pack(r->request, &k->body);
    k->header = (struct rpc_header){
        .version = RPC_VERSION,
        .rpc = (uint16_t)r->rpc,
        .token_len = AUTH_TOKEN_SIZE,
        .body_len = (uint32_t)k->body.len,
        .id = 1,
    };
    k->limit = loop_timer_new(l, on_keyed_limit, k);
    loop_timer_set(k->limit, r->timeout_ms);
    k->dial = rpc_dial_start(l, &to, 1, r->timeout_ms, on_keyed_dialled, k);
    return k;
}
