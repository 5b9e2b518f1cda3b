/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocking client of commands. */
#include "rpc/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "rpc/mint.h"

#define PLACE_NONE SIZE_MAX

struct rpc_client {
    const struct conf *conf;
    struct rpc_wire wire;
    size_t place; /* 0: the controller's local socket; 1 and up: controllers over TCP */
    uint64_t last_id;
};

/* One call, as far as it does not depend on where it goes. */
struct call {
    struct rpc_client *client;
    const struct rpc_info *rpc;
    struct str body;
    int64_t connect_ms;  /* patience with one place */
    int64_t deadline_ms; /* of the whole call, or of each part of a stream */
    struct rpc_header sent;
};

struct rpc_client *rpc_client_new(const struct conf *conf)
{
    struct rpc_client *c = mem_new(struct rpc_client);

    c->conf = conf;
    c->wire.fd = -1;
    c->place = PLACE_NONE;
    return c;
}

static void disconnect(struct rpc_client *c)
{
    rpc_wire_close(&c->wire);
    c->place = PLACE_NONE;
}

void rpc_client_free(struct rpc_client *c)
{
    if (!c)
        return;
    disconnect(c);
    free(c);
}

bool rpc_local_socket_wanted(void)
{
    const char *no = getenv("SLUICE_NO_LOCAL_SOCKET");

    return !no || !no[0] || strcmp(no, "0") == 0;
}

/* 0; or a reason for going on to the next place, "" when it is not worth a word. */
static int connect_to(struct rpc_client *c, size_t place, int64_t patience_ms, struct err *err)
{
    const struct conf *conf = c->conf;
    int64_t deadline_ms = rpc_wire_now_ms() + patience_ms;
    int rc;

    disconnect(c);
    if (place == 0) {
        uid_t trusted[RPC_TRUSTED_COUNT];
        _cleanup_free_ char *path = conf_socket_path(conf, "slurmctld", NULL);

        if (!rpc_local_socket_wanted())
            return -ENOENT;
        rpc_trusted_uids(conf, trusted);
        rc = rpc_wire_open_local(&c->wire, path, trusted, RPC_TRUSTED_COUNT, deadline_ms, err);
        if (rc < 0 && rc != -ENOENT && rc != -ECONNREFUSED)
            err_prefix(err, "%s", path);
    } else {
        const struct conf_host *host = &conf->controllers.data[place - 1];
        rc = rpc_wire_open_tcp(&c->wire, host->addr, conf->slurmctld_port, deadline_ms, err);
        if (rc < 0)
            err_prefix(err, "%s:%u", host->addr, conf->slurmctld_port);
    }
    if (rc == 0)
        c->place = place;
    return rc;
}

static int send_request(struct call *q, struct err *err)
{
    struct rpc_client *c = q->client;
    uint8_t(*token)[AUTH_TOKEN_SIZE] = NULL;
    uint8_t hash[AUTH_HASH_SIZE];
    int rc = 0;

    q->sent = (struct rpc_header){
        .version = RPC_VERSION,
        .rpc = q->rpc->number,
        .token_len = c->place == 0 ? 0 : AUTH_TOKEN_SIZE,
        .body_len = (uint32_t)q->body.len,
        .id = ++c->last_id,
    };
    if (q->sent.token_len) {
        const char *audience = "slurmctld";
        rpc_frame_hash(&q->sent, q->body.data, hash);
        rc = rpc_mint(c->conf, hash, &audience, 1, rpc_wire_now_ms() + q->connect_ms, &token, err);
    }
    if (rc == 0)
        rc = rpc_wire_send(&c->wire, &q->sent, token, q->body.data, q->deadline_ms, err);
    free(token);
    return rc;
}

/* Sends, and receives the first answer. */
static int exchange(struct call *q, struct rpc_header *h, const uint8_t **body, struct err *err)
{
    int rc = send_request(q, err);

    if (rc == 0)
        rc = rpc_wire_answer(&q->client->wire, &q->sent, h, body, q->deadline_ms, err);
    return rc;
}

/* The same at the first place that is there and leads. */
static int exchange_anywhere(struct call *q, struct rpc_header *h, const uint8_t **body,
                             struct err *err)
{
    struct rpc_client *c = q->client;
    _cleanup_str_ struct str tried = STR_INIT;
    size_t place = 0;
    bool kept = rpc_wire_is_fresh(&c->wire);

    if (kept)
        place = c->place;
    for (; place <= c->conf->controllers.len; place++) {
        struct err why = {0};
        int rc = kept ? 0 : connect_to(c, place, q->connect_ms, &why);

        kept = false;
        if (rc == 0) {
            rc = exchange(q, h, body, &why);
            if (rc != -ERR_STANDBY) {
                if (rc < 0)
                    *err = why;
                return rc;
            }
        } else if (place == 0 && (rc == -ENOENT || rc == -ECONNREFUSED)) {
            continue; /* the controller is not on this host: nothing to tell */
        }
        str_printf(&tried, "%s%s", tried.len ? "; " : "", why.text);
    }
    disconnect(c);
    return err_set(err, -ERR_CONNECT, "%s (tried %s)", err_text(ERR_CONNECT), str_cstr(&tried));
}

static int64_t patience_of(const struct conf *conf)
{
    return conf->message_timeout_sec * 1000;
}

static int begin(struct rpc_client *c, struct call *q, enum rpc_number number,
                 const ProtobufCMessage *request, int64_t timeout_ms, struct err *err)
{
    *q = (struct call){
        .client = c,
        .rpc = rpc_find(number),
        .connect_ms = patience_of(c->conf),
        .deadline_ms = RPC_NO_DEADLINE,
    };
    if (timeout_ms == 0)
        timeout_ms = patience_of(c->conf);
    if (timeout_ms > 0)
        q->deadline_ms = rpc_wire_now_ms() + timeout_ms;
    pb_pack(request, &q->body);
    if (q->body.len > RPC_BODY_MAX)
        return err_set(err, -ERR_TOO_BIG, "the request has %zu bytes, at most %u can be sent",
                       q->body.len, RPC_BODY_MAX);
    return 0;
}

int rpc_call(struct rpc_client *c, enum rpc_number number, const ProtobufCMessage *request,
             int64_t timeout_ms, struct arena *arena, void *reply, struct err *err)
{
    struct call q;
    struct rpc_header h;
    const uint8_t *body;
    struct err why = {0};
    int rc = begin(c, &q, number, request, timeout_ms, &why);

    if (rc == 0) {
        rc = exchange_anywhere(&q, &h, &body, &why);
        if (rc == 0 && h.flags & RPC_FLAG_MORE)
            rc = err_set(&why, -ERR_PROTOCOL, "an answer in parts where one was expected");
        /* After a refusal the connection is in order, after anything else it may not be. */
        if (rc < 0 && (rc == -ERR_TIMEOUT || rc == -ERR_CLOSED || rc == -ERR_PROTOCOL))
            disconnect(c);
    }
    if (rc == 0) {
        void *message = arena_unpack(arena, q.rpc->reply, body, h.body_len);
        if (message && reply)
            *(void **)reply = message;
        if (!message)
            rc = err_set(&why, -ERR_PROTOCOL, "malformed answer to %s", q.rpc->name);
    }
    str_done(&q.body);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

static int give_part(const struct call *q, const uint8_t *body, size_t len, rpc_part_fn *part,
                     void *ctx, struct err *err)
{
    struct arena arena;
    ProtobufCMessage *message;
    int rc;

    arena_init(&arena, len * RPC_REPLY_FACTOR + RPC_ARENA_EXTRA);
    message = arena_unpack(&arena, q->rpc->reply, body, len);
    if (message)
        rc = part(ctx, message, err);
    else
        rc = err_set(err, -ERR_PROTOCOL, "malformed answer to %s", q->rpc->name);
    arena_done(&arena);
    return rc;
}

int rpc_call_stream(struct rpc_client *c, enum rpc_number number, const ProtobufCMessage *request,
                    rpc_part_fn *part, void *ctx, struct err *err)
{
    struct call q;
    struct rpc_header h = {0};
    const uint8_t *body = NULL;
    struct err why = {0};
    bool answered = false;
    int rc = begin(c, &q, number, request, 0, &why);

    if (rc == 0)
        rc = exchange_anywhere(&q, &h, &body, &why);
    while (rc == 0) {
        answered = true;
        rc = give_part(&q, body, h.body_len, part, ctx, &why);
        if (rc != 0 || !(h.flags & RPC_FLAG_MORE))
            break;
        q.deadline_ms = rpc_wire_now_ms() + patience_of(c->conf);
        rc = rpc_wire_answer(&c->wire, &q.sent, &h, &body, q.deadline_ms, &why);
    }
    if (rc != 0 && (answered || rc == -ERR_TIMEOUT || rc == -ERR_CLOSED || rc == -ERR_PROTOCOL))
        disconnect(c);
    str_done(&q.body);
    if (rc != 0 && err)
        *err = why;
    return rc;
}
