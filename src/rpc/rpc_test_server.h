/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server for the tests of this module that counts requests and answers as configured. */
#pragma once

#include "rpc/rpc_test_util.h"

#include "proto/ctl.pb-c.h"
#include "proto/node.pb-c.h"
#include "rpc/reply.h"
#include "rpc/server.h"

struct served {
    struct rpc_server *server;
    int port;
    unsigned requests, gone, drained, refused, sessions;
    uint64_t last_call, last_gone;
    struct auth_identity who;
    unsigned roles;
    bool is_secret;
    char why[600], peer[128], session_name[128];
    struct rpc_session *session;
    struct rpc_session_events session_events;
    bool hold; /* do not answer */
    bool idle; /* callers stay idle between requests */
    void (*answer)(struct served *v, const struct rpc_request *r);
};

static void served_request(void *ctx, const struct rpc_request *r)
{
    struct served *v = ctx;
    Pb__PingReply ping = PB__PING_REPLY__INIT;

    v->requests++;
    v->last_call = r->call;
    v->who = r->who;
    v->roles = r->roles;
    v->is_secret = r->is_secret;
    snprintf(v->peer, sizeof(v->peer), "%s", r->peer);
    ping.host = "here";
    ping.primary = 1;
    if (v->answer)
        v->answer(v, r);
    else if (r->rpc->number == RPC_MINT)
        rpc_answer_mint(v->server, r, 60000);
    else if (!v->hold && r->rpc->number == RPC_PING)
        rpc_reply(v->server, r->call, &ping.base);
    else if (!v->hold)
        rpc_reply_bytes(v->server, r->call, NULL, 0, false);
}
static void served_gone(void *ctx, uint64_t call)
{
    struct served *v = ctx;

    v->gone++;
    v->last_gone = call;
}
static void served_drained(void *ctx, uint64_t call)
{
    struct served *v = ctx;

    v->drained++;
}
static void served_session(void *ctx, struct rpc_session *s, const char *name)
{
    struct served *v = ctx;

    v->sessions++;
    v->session = s;
    snprintf(v->session_name, sizeof(v->session_name), "%s", name);
    rpc_session_set_events(s, &v->session_events);
}
static void served_refused(void *ctx, const char *peer, const char *why)
{
    struct served *v = ctx;

    v->refused++;
    snprintf(v->why, sizeof(v->why), "%s", why);
}

static void serve(struct served *v, const struct rpc_server_options *bend)
{
    struct rpc_server_options o = {
        .loop = loop, .key = &key, .audience = AUDIENCE, .admin_uid = 900, .node_uid = 901};
    struct rpc_server_events e = {
        .on_request = served_request,
        .on_gone = served_gone,
        .on_drained = served_drained,
        .on_session = served_session,
        .on_refused = served_refused,
        .ctx = v,
    };

    if (bend) {
        o.refuse_plain = bend->refuse_plain;
        o.key = bend->key ? bend->key : o.key;
        o.audience = bend->audience ? bend->audience : o.audience;
    }
    v->server = rpc_server_new(&o, &e);
    v->port = rpc_server_listen_tcp(v->server, "127.0.0.1", 0, NULL);
    assert_true(v->port > 0);
    assert_int_equal(rpc_server_listen_unix(v->server, socket_path, 0666, NULL), 0);
}
