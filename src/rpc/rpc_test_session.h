/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sessions between a test server and a client end that counts events. */
#pragma once

#include "rpc/rpc_test_server.h"

#include "proto/io.pb-c.h"
#include "rpc/session.h"

/* One end of a session and its recorded events. */
struct end {
    struct rpc_session *s;
    unsigned opened, messages, closed, drained;
    enum rpc_number last;
    uint64_t seq; /* of the last NODE_ACK */
    size_t bytes; /* total bytes of IO_DATA */
    struct err why;
    bool free_on_message, free_on_close, free_on_open;
};

static void end_open(void *ctx, struct rpc_session *s)
{
    struct end *e = ctx;

    e->opened++;
    if (e->free_on_open)
        rpc_session_free(s);
}
static void end_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                        const ProtobufCMessage *body)
{
    struct end *e = ctx;

    e->messages++;
    e->last = (enum rpc_number)rpc->number;
    if (rpc->number == RPC_NODE_ACK)
        e->seq = ((const Pb__NodeAck *)body)->seq;
    if (rpc->number == RPC_IO_DATA)
        e->bytes += ((const Pb__IoData *)body)->data.len;
    if (e->free_on_message) {
        e->free_on_message = false;
        rpc_session_free(s);
    }
}
static void end_drained(void *ctx, struct rpc_session *s)
{
    struct end *e = ctx;

    e->drained++;
}
static void end_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct end *e = ctx;

    e->closed++;
    e->why = *why;
    if (e->free_on_close)
        rpc_session_free(s);
}

static struct rpc_session_events end_events(struct end *e, unsigned accepts)
{
    return (struct rpc_session_events){
        .accepts = accepts,
        .on_open = end_open,
        .on_message = end_message,
        .on_drained = end_drained,
        .on_close = end_close,
        .ctx = e,
    };
}

/* Set by local_setup(): every session uses the abstract socket of the last server. */
static bool locally;
static char abstract[RPC_ABSTRACT_SIZE];

static void connect_to(struct end *e, const char *host, int port, bool retry, unsigned accepts)
{
    struct rpc_session_events events = end_events(e, accepts);
    struct rpc_target t = {locally ? abstract : host, locally ? 0 : (uint16_t)port};

    e->s = rpc_session_connect(loop, &key, "node1", &t, 1, retry, &events);
}

static bool has_opened(void *ctx)
{
    return ((struct end *)ctx)->opened > 0;
}
static bool has_message(void *ctx)
{
    return ((struct end *)ctx)->messages > 0;
}
static bool has_closed(void *ctx)
{
    return ((struct end *)ctx)->closed > 0;
}
static bool has_session(void *ctx)
{
    return ((struct served *)ctx)->sessions > 0;
}
static void send_ack(struct rpc_session *s, uint64_t seq)
{
    Pb__NodeAck ack = PB__NODE_ACK__INIT;

    ack.seq = seq;
    rpc_session_send(s, RPC_NODE_ACK, &ack.base);
}

static void send_data(struct rpc_session *s, size_t len)
{
    static uint8_t bytes[1 << 20];
    Pb__IoData data = PB__IO_DATA__INIT;

    assert_true(len <= sizeof(bytes));
    data.task = 0;
    data.stream = 1;
    data.has_data = 1;
    data.data = (ProtobufCBinaryData){len, bytes};
    rpc_session_send(s, RPC_IO_DATA, &data.base);
}

static void serve_end(struct served *v, struct end *e, bool step)
{
    struct rpc_server_options bend = {.refuse_plain = step};

    v->session_events = end_events(e, 0);
    serve(v, &bend);
    if (locally)
        assert_int_equal(rpc_server_listen_abstract(v->server, abstract, NULL), 0);
}

static int local_setup(void **state)
{
    locally = true;
    return world_setup(state);
}

static int local_teardown(void **state)
{
    locally = false;
    return world_teardown(state);
}

#define LOCAL(f) cmocka_unit_test_setup_teardown(f, local_setup, local_teardown)
