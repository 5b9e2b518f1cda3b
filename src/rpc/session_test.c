/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/rpc_test_session.h"

#include "rpc/seal.h"

/* A peer that completes the handshake, and can then send anything. */
struct peer {
    struct raw raw;
    struct rpc_seal seal;
};

static struct rpc_header session_header(enum rpc_number rpc, size_t len)
{
    return (struct rpc_header){.version = RPC_VERSION,
                               .rpc = (uint16_t)rpc,
                               .flags = RPC_FLAG_SESSION,
                               .token_len = rpc ? AUTH_MAC_SIZE : 0,
                               .body_len = (uint32_t)len};
}

static void peer_send(struct peer *p, const struct rpc_header *h, const void *mac, const void *body)
{
    _cleanup_str_ struct str out = STR_INIT;

    rpc_frame_append(&out, h, mac, body);
    raw_send(&p->raw, out.data, out.len);
}

/* With another key than the server's, the handshake goes as far as possible. */
static void peer_connect(struct peer *p, int port, const struct auth_key *with, const char *name)
{
    struct rpc_header h = session_header((enum rpc_number)0, sizeof(struct rpc_hello));
    _cleanup_str_ struct str body = STR_INIT;
    struct rpc_transcript t;
    struct rpc_hello_reply reply;
    uint8_t proof[AUTH_MAC_SIZE];

    raw_tcp(&p->raw, port);
    rpc_hello_make(name, &t.connecting);
    peer_send(p, &h, NULL, &t.connecting);
    raw_frame(&p->raw, &h, &body);
    assert_int_equal(h.flags, RPC_FLAG_SESSION | RPC_FLAG_REPLY);
    assert_int_equal(body.len, sizeof(reply));
    memcpy(&reply, body.data, sizeof(reply));
    t.accepting = reply.hello;
    rpc_seal_proof(with, &t, true, proof);
    h = session_header((enum rpc_number)0, sizeof(proof));
    peer_send(p, &h, NULL, proof);
    rpc_seal_init(&p->seal, with, &t, true);
}

static void invalid_handshakes_are_refused(void **state)
{
    static const struct {
        uint16_t rpc, flags, token_len;
        uint32_t len;
        const char *name;
    } rows[] = {
        {0, RPC_FLAG_SESSION, 0, 0, "n"},
        {0, RPC_FLAG_SESSION, 0, sizeof(struct rpc_hello) - 1, "n"},
        {0, RPC_FLAG_SESSION, 0, sizeof(struct rpc_hello) + 1, "n"},
        {0, RPC_FLAG_SESSION, 0, 1 << 20, "n"},
        {0, RPC_FLAG_SESSION | RPC_FLAG_REPLY, 0, sizeof(struct rpc_hello), "n"},
        {0, RPC_FLAG_SESSION | RPC_FLAG_ERROR, 0, sizeof(struct rpc_hello), "n"},
        {0, RPC_FLAG_SESSION, AUTH_MAC_SIZE, sizeof(struct rpc_hello), "n"},
        {RPC_PING, RPC_FLAG_SESSION, 0, sizeof(struct rpc_hello), "n"},
        {RPC_NODE_ACK, RPC_FLAG_SESSION, AUTH_MAC_SIZE, 2, "n"},
        {0, RPC_FLAG_SESSION, 0, sizeof(struct rpc_hello), ""},
        {0, RPC_FLAG_SESSION, 0, sizeof(struct rpc_hello), "a b"},
        {0, RPC_FLAG_SESSION, 0, sizeof(struct rpc_hello), "\x1b[2J"},
    };
    struct served v = {0};
    struct end e = {0};

    serve_end(&v, &e, false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rpc_header h = {.version = RPC_VERSION,
                               .rpc = rows[i].rpc,
                               .flags = rows[i].flags,
                               .token_len = rows[i].token_len,
                               .body_len = rows[i].len};
        union {
            struct rpc_hello hello;
            uint8_t bytes[1 << 20];
        } *body = mem_new(typeof(*body));
        uint8_t token[AUTH_MAC_SIZE] = {0};
        struct peer p;
        rpc_hello_make(rows[i].name, &body->hello);
        v.refused = 0;
        raw_tcp(&p.raw, v.port);
        peer_send(&p, &h, token, body);
        raw_refused(&p.raw, -ERR_PROTOCOL, NULL);
        run_until(raw_ended, &p.raw);
        assert_int_equal(v.refused, 1);
        assert_int_equal(v.sessions, 0);
        raw_close(&p.raw);
        free(body);
    }
    rpc_server_free(v.server);
}

static void wrong_proof_is_refused(void **state)
{
    struct auth_key other;
    struct served v = {0};
    struct end e = {0};
    struct peer p;
    struct err err;

    auth_key_from_bytes("not the key", 11, &other);
    serve_end(&v, &e, false);
    peer_connect(&p, v.port, &other, "evil");
    raw_refused(&p.raw, -ERR_AUTH, &err);
    assert_non_null(strstr(err.text, "evil"));
    run_until(raw_ended, &p.raw);
    assert_int_equal(v.refused, 1);
    assert_int_equal(v.sessions, 0);
    assert_int_equal(e.closed, 0);
    raw_close(&p.raw);
    rpc_server_free(v.server);
}

/* The server's random number is new each time: messages recorded in one session cannot open
   another. */
static void replayed_handshake_is_refused(void **state)
{
    struct rpc_header hello_h = session_header((enum rpc_number)0, sizeof(struct rpc_hello));
    struct rpc_header proof_h = session_header((enum rpc_number)0, AUTH_MAC_SIZE), h;
    struct served v = {0};
    struct end e = {0};
    struct rpc_transcript t;
    uint8_t proof[AUTH_MAC_SIZE];

    serve_end(&v, &e, false);
    rpc_hello_make("node1", &t.connecting);
    for (int round = 0; round < 2; round++) {
        _cleanup_str_ struct str body = STR_INIT;
        struct peer p;
        raw_tcp(&p.raw, v.port);
        peer_send(&p, &hello_h, NULL, &t.connecting);
        raw_frame(&p.raw, &h, &body);
        if (round == 0) {
            memcpy(&t.accepting, body.data, sizeof(t.accepting));
            rpc_seal_proof(&key, &t, true, proof);
        }
        peer_send(&p, &proof_h, NULL, proof);
        if (round == 0)
            run_until(has_session, &v);
        else
            raw_refused(&p.raw, -ERR_AUTH, NULL);
        raw_close(&p.raw);
    }
    assert_int_equal(v.sessions, 1);
    rpc_server_free(v.server);
}

/* A server that does not know the key cannot pose as the controller. */
static void server_without_the_key_is_refused(void **state)
{
    struct auth_key other;
    struct rpc_server_options bend = {.key = &other};
    struct served v = {0};
    struct end e = {0};

    auth_key_from_bytes("not the key", 11, &other);
    serve(&v, &bend);
    connect_to(&e, "127.0.0.1", v.port, false, 0);
    run_until(has_closed, &e);
    assert_int_equal(e.why.code, -ERR_AUTH);
    assert_non_null(strstr(e.why.text, "slurm.key"));
    assert_non_null(strstr(e.why.text, "127.0.0.1"));
    assert_int_equal(e.opened, 0);
    rpc_session_free(e.s);
    rpc_server_free(v.server);
}

static void handshake_has_a_deadline(void **state)
{
    struct rpc_header h = session_header((enum rpc_number)0, sizeof(struct rpc_hello));
    struct served v = {0};
    struct end e = {0};
    struct rpc_hello hello;
    struct peer p;

    serve_end(&v, &e, false);
    rpc_hello_make("node1", &hello);
    raw_tcp(&p.raw, v.port);
    peer_send(&p, &h, NULL, &hello);
    raw_frame(&p.raw, &h, NULL);
    clock_ahead_ms = RPC_READ_TIMEOUT_MS;
    run_until(raw_ended, &p.raw);
    assert_int_equal(v.sessions, 0);
    raw_close(&p.raw);
    rpc_server_free(v.server);
}

/* An open session receives an invalid message: it ends, and the message does not reach the
   handler. */
static void altered_messages_close_the_session(void **state)
{
    enum bend {
        FLIP_MAC,
        FLIP_BODY,
        FLIP_ID,
        NO_MAC,
        FLAGS,
        TWICE,
        SKIPPED,
        BACK,
        OTHER_CLASS,
        NOT_SESSION,
        MALFORMED,
        TRAILING,
        TOO_BIG,
        PLAIN,
        HELLO,
        BENDS
    };
    static const int codes[BENDS] = {
        [NO_MAC] = -ERR_PROTOCOL,    [FLAGS] = -ERR_PROTOCOL,     [OTHER_CLASS] = -ERR_ACCESS,
        [NOT_SESSION] = -ERR_ACCESS, [MALFORMED] = -ERR_PROTOCOL, [TRAILING] = -ERR_PROTOCOL,
        [TOO_BIG] = -ERR_TOO_BIG,    [PLAIN] = -ERR_PROTOCOL,     [HELLO] = -ERR_PROTOCOL,
    };

    for (int bend = 0; bend < BENDS; bend++) {
        struct served v = {0};
        struct end e = {0};
        struct peer p;
        struct rpc_header h = session_header(RPC_NODE_ACK, 2);
        uint8_t body[3] = {0x08, 42, 0xff}, mac[AUTH_MAC_SIZE];
        unsigned good = 0;

        serve_end(&v, &e, false);
        peer_connect(&p, v.port, &key, "node1");
        run_until(has_session, &v);
        if (bend == OTHER_CLASS)
            h.rpc = RPC_IO_DATA;
        else if (bend == NOT_SESSION)
            h.rpc = RPC_PING;
        else if (bend == TRAILING)
            h.body_len = 3;
        else if (bend == MALFORMED)
            h.body_len = 1;
        else if (bend == FLAGS)
            h.flags |= RPC_FLAG_MORE;
        else if (bend == SKIPPED)
            rpc_seal_sign(&p.seal, &h, body, mac); /* a message that is lost */
        else if (bend == HELLO)
            h.rpc = 0;
        rpc_seal_sign(&p.seal, &h, body, mac);
        if (bend == FLIP_MAC)
            mac[31] ^= 0x80;
        else if (bend == FLIP_BODY)
            body[1] ^= 1;
        else if (bend == FLIP_ID)
            h.id ^= 1;
        else if (bend == NO_MAC)
            h.token_len = 0;
        else if (bend == PLAIN)
            h.flags = 0;
        else if (bend == TOO_BIG)
            h.body_len = RPC_BODY_MAX + 1;
        if (bend == BACK) { /* the server's own message, sent back */
            _cleanup_str_ struct str own = STR_INIT;
            send_ack(v.session, 42);
            p.raw.want = RPC_HEADER_SIZE + AUTH_MAC_SIZE + 2;
            run_until(raw_has, &p.raw);
            str_append(&own, p.raw.in.data, p.raw.in.len);
            str_clear(&p.raw.in);
            raw_send(&p.raw, own.data, own.len);
        } else if (bend == TOO_BIG) {
            uint8_t head[RPC_HEADER_SIZE];
            rpc_header_pack(&h, head);
            raw_send(&p.raw, head, sizeof(head));
        } else {
            peer_send(&p, &h, mac, body);
        }
        if (bend == TWICE) {
            good = 1;
            peer_send(&p, &h, mac, body);
        }
        run_until(has_closed, &e);
        assert_int_equal(e.why.code, codes[bend] ? codes[bend] : -ERR_AUTH);
        assert_int_equal(e.messages, good);
        assert_non_null(strstr(e.why.text, "node1"));
        run_until(raw_ended, &p.raw);
        assert_int_equal(p.raw.in.len, 0);
        raw_close(&p.raw);
        rpc_server_free(v.server);
    }
}

static void message_size_is_limited(void **state)
{
    static const struct {
        size_t len;
        bool arrives;
    } rows[] = {{RPC_BODY_MAX - 1, true}, {RPC_BODY_MAX, true}, {RPC_BODY_MAX + 1, false}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t *bytes = mem_alloc(RPC_BODY_MAX);
        Pb__IoData data = PB__IO_DATA__INIT;
        struct served v = {0};
        struct end here = {0}, there = {0};
        size_t packed;
        serve_end(&v, &there, true);
        connect_to(&here, "127.0.0.1", v.port, false, RPC_WHO_KEY);
        run_until(has_opened, &here);
        data.has_data = 1;
        data.data = (ProtobufCBinaryData){RPC_BODY_MAX - 100, bytes};
        packed = protobuf_c_message_get_packed_size(&data.base);
        data.data.len += rows[i].len - packed;
        assert_int_equal(protobuf_c_message_get_packed_size(&data.base), rows[i].len);
        rpc_session_send(here.s, RPC_IO_DATA, &data.base);
        send_data(here.s, 1);
        while (there.bytes != (rows[i].arrives ? data.data.len + 1 : 1)) {
            there.messages = 0;
            run_until(has_message, &there);
            assert_int_equal(there.closed, 0);
        }
        rpc_session_free(here.s);
        rpc_server_free(v.server);
        free(bytes);
    }
}

static void messages_pass_in_both_directions(void **state)
{
    struct served v = {0};
    struct end here = {0}, there = {0};
    char want[64];

    serve_end(&v, &there, false);
    connect_to(&here, "localhost", v.port, false, 0); /* a name, looked up by a worker */
    assert_false(rpc_session_is_open(here.s));
    send_ack(here.s, 1); /* not open: dropped */
    run_until(has_opened, &here);
    run_until(has_session, &v);
    assert_string_equal(v.session_name, "node1");
    if (locally)
        snprintf(want, sizeof(want), "%s (%s)", AUDIENCE, abstract);
    else
        snprintf(want, sizeof(want), "%s (127.0.0.1:%d)", AUDIENCE, v.port);
    assert_string_equal(rpc_session_peer(here.s), want);
    assert_memory_equal(rpc_session_peer(v.session),
                        locally ? "node1 (local uid " : "node1 (127.0.0.1:", 17);
    for (uint64_t i = 2; i < 200; i++) {
        here.messages = there.messages = 0;
        send_ack(here.s, i);
        run_until(has_message, &there);
        assert_int_equal(there.seq, i);
        send_ack(v.session, i + 1000);
        run_until(has_message, &here);
        assert_int_equal(here.seq, i + 1000);
    }
    rpc_session_free(here.s);
    run_until(has_closed, &there);
    assert_int_equal(there.why.code, -ERR_CLOSED);
    rpc_server_free(v.server);
}

/* Large messages with the fast MAC and small ones without, in both directions, before and after a
 * side has learned that the other supports it. */
static void large_messages_use_the_fast_mac(void **state)
{
    static const size_t sizes[] = {0, 100, 32768, 1, 1 << 20, 2047, 2049};
    struct served v = {0};
    struct end here = {0}, there = {0};

    serve_end(&v, &there, true);
    connect_to(&here, "127.0.0.1", v.port, false, RPC_WHO_KEY);
    run_until(has_opened, &here);
    run_until(has_session, &v);
    for (int round = 0; round < 3; round++) {
        size_t count = sizeof(sizes) / sizeof(sizes[0]), sum = 0;
        here.bytes = there.bytes = 0;
        for (size_t i = 0; i < count; i++) {
            send_data(here.s, sizes[i]);
            send_data(v.session, sizes[i]);
            sum += sizes[i];
        }
        here.messages = there.messages = 0;
        while (here.messages < count || there.messages < count)
            settle();
        assert_int_equal(here.bytes, sum);
        assert_int_equal(there.bytes, sum);
        rpc_session_send_bulk(round ? v.session : here.s);
    }
    assert_int_equal(here.closed + there.closed, 0);
    rpc_session_free(here.s);
    rpc_server_free(v.server);
}

/* Events take far more memory than bytes on the wire; all events of a node are accepted. */
static void many_events_are_accepted(void **state)
{
    enum { COUNT = 5000 };
    struct served v = {0};
    struct end here = {0}, there = {0};
    Pb__Usage usage = PB__USAGE__INIT;
    Pb__StepEnded ended = PB__STEP_ENDED__INIT;
    Pb__NodeEvent *list = mem_new_array(Pb__NodeEvent, COUNT);
    Pb__NodeEvent **all = mem_new_array(Pb__NodeEvent *, COUNT);
    Pb__NodeReport report = PB__NODE_REPORT__INIT;

    ended.usage = &usage;
    for (size_t i = 0; i < COUNT; i++) {
        pb__node_event__init(&list[i]);
        list[i].step_ended = &ended;
        all[i] = &list[i];
    }
    report.events = all;
    report.n_events = COUNT;
    serve_end(&v, &there, false);
    connect_to(&here, "127.0.0.1", v.port, false, 0);
    run_until(has_opened, &here);
    run_until(has_session, &v);
    rpc_session_send(here.s, RPC_NODE_REPORT, &report.base);
    run_until(has_message, &there);
    assert_int_equal(there.last, RPC_NODE_REPORT);
    assert_int_equal(there.closed, 0);
    rpc_session_free(here.s);
    rpc_server_free(v.server);
    free(list);
    free(all);
}

/* Each end takes its own kind of rows only. */
static void each_side_accepts_its_own_messages_only(void **state)
{
    for (int step = 0; step < 2; step++) {
        for (int right = 0; right < 2; right++) {
            struct served v = {0};
            struct end here = {0}, there = {0};
            unsigned accepts = (step == right) ? RPC_WHO_KEY : RPC_WHO_NODE;
            serve_end(&v, &there, step);
            connect_to(&here, "127.0.0.1", v.port, false, accepts);
            run_until(has_opened, &here);
            run_until(has_session, &v);
            if (step)
                send_data(v.session, 10);
            else
                send_ack(v.session, 1);
            if (right) {
                run_until(has_message, &here);
            } else {
                run_until(has_closed, &here);
                assert_int_equal(here.why.code, -ERR_ACCESS);
                assert_int_equal(here.messages, 0);
            }
            rpc_session_free(here.s);
            rpc_server_free(v.server);
        }
    }
}

static void unreachable_target_is_reported(void **state)
{
    struct served v = {0};
    struct end e = {0};
    char place[64];

    serve(&v, NULL);
    rpc_server_free(v.server); /* the port is free now */
    connect_to(&e, "127.0.0.1", v.port, false, 0);
    run_until(has_closed, &e);
    assert_int_equal(e.why.code, -ERR_CONNECT);
    snprintf(place, sizeof(place), "127.0.0.1:%d: Connection refused", v.port);
    assert_string_equal(e.why.text, place);
    rpc_session_free(e.s);

    e = (struct end){.free_on_close = true};
    connect_to(&e, "no such host", v.port, false, 0);
    run_until(has_closed, &e);
    assert_int_equal(e.why.code, -ERR_CONNECT);
    assert_non_null(strstr(e.why.text, "no such host"));
}

static void second_target_is_tried(void **state)
{
    struct served v = {0};
    struct end here = {0}, there = {0};
    struct rpc_session_events events = end_events(&here, 0);
    struct rpc_target t[2] = {{"127.0.0.1", 1}, {"127.0.0.1", 0}};

    serve_end(&v, &there, false);
    t[1].port = (uint16_t)v.port;
    here.s = rpc_session_connect(loop, &key, "node1", t, 2, false, &events);
    run_until(has_opened, &here);
    rpc_session_free(here.s);
    rpc_server_free(v.server);
}

/* The first target accepts connections and does not know the key: the next attempt skips it. */
static void target_behind_an_impostor_is_reached(void **state)
{
    struct auth_key other;
    struct rpc_server_options bend = {.key = &other};
    struct served bad = {0}, good = {0};
    struct end here = {0}, there = {0};
    struct rpc_session_events events = end_events(&here, 0);

    auth_key_from_bytes("not the key", 11, &other);
    serve(&bad, &bend);
    serve_end(&good, &there, false);
    struct rpc_target t[2] = {{"127.0.0.1", (uint16_t)bad.port},
                              {"127.0.0.1", (uint16_t)good.port}};
    here.s = rpc_session_connect(loop, &key, "node1", t, 2, true, &events);
    run_until(has_opened, &here);
    assert_int_equal(here.closed, 1);
    assert_int_equal(here.why.code, -ERR_AUTH);
    rpc_session_free(here.s);
    rpc_server_free(bad.server);
    rpc_server_free(good.server);
}

static void session_reconnects(void **state)
{
    struct served v = {0};
    struct end here = {0}, there = {0};
    struct rpc_server_options o = {.loop = loop, .key = &key, .audience = AUDIENCE};
    struct rpc_server_events e = {
        .on_request = served_request, .on_session = served_session, .ctx = &v};
    int port;

    serve_end(&v, &there, false);
    port = v.port;
    connect_to(&here, "127.0.0.1", port, true, 0);
    run_until(has_opened, &here);
    for (int i = 0; i < 3; i++) {
        here.opened = here.closed = 0;
        v.sessions = 0;
        rpc_server_free(v.server);
        run_until(has_closed, &here);
        assert_false(rpc_session_is_open(here.s));
        v.server = rpc_server_new(&o, &e);
        assert_int_equal(rpc_server_listen_tcp(v.server, "127.0.0.1", (uint16_t)port, NULL), port);
        run_until(has_opened, &here);
        run_until(has_session, &v);
        here.messages = 0;
        send_ack(v.session, 5);
        run_until(has_message, &here);
    }
    rpc_session_free(here.s);
    rpc_server_free(v.server);
}

/* Two controllers, the first in standby: it refuses, and the session tries the second. When the
 * first takes over, it calls. */
static void session_follows_the_leading_controller(void **state)
{
    struct served first = {0}, second = {0};
    struct end here = {0}, there = {0};
    struct rpc_server_options o = {.loop = loop, .key = &key, .audience = AUDIENCE};
    struct rpc_server_events e = {
        .on_request = served_request, .on_session = served_session, .ctx = &second};
    struct rpc_session_events events = end_events(&here, 0);

    serve_end(&first, &there, false);
    second.session_events = first.session_events;
    second.server = rpc_server_new(&o, &e);
    second.port = rpc_server_listen_tcp(second.server, "127.0.0.1", 0, NULL);
    struct rpc_target targets[] = {{"127.0.0.1", (uint16_t)first.port},
                                   {"127.0.0.1", (uint16_t)second.port}};
    rpc_server_refuse_sessions(first.server, -ERR_STANDBY, "another one leads");
    here.s = rpc_session_connect(loop, &key, "node1", targets, 2, true, &events);
    run_until(has_closed, &here);
    assert_int_equal(here.why.code, -ERR_STANDBY);
    assert_non_null(strstr(here.why.text, "another one leads"));
    run_until(has_session, &second);
    run_until(has_opened, &here);
    assert_int_equal(first.sessions, 0);
    assert_int_equal(first.refused, 0); /* nothing for the log */
    assert_int_equal(rpc_session_target(here.s), 1);

    here.closed = here.opened = 0;
    rpc_server_refuse_sessions(first.server, 0, NULL);
    rpc_session_redial(here.s, 0);
    assert_int_equal(here.closed, 1);
    assert_true(rpc_session_target(here.s) == SIZE_MAX);
    run_until(has_session, &first);
    run_until(has_opened, &here);
    assert_int_equal(rpc_session_target(here.s), 0);
    run_until(has_closed, &there);
    assert_int_equal(second.sessions, 1);

    /* Other targets are for later. */
    here.closed = here.opened = 0;
    second.sessions = 0;
    rpc_session_set_targets(here.s, targets + 1, 1);
    settle();
    assert_true(rpc_session_is_open(here.s));
    rpc_server_free(first.server);
    run_until(has_session, &second);
    rpc_session_free(here.s);
    rpc_server_free(second.server);
}

/* Freed inside each of its callbacks. */
static void session_may_be_freed_in_its_callbacks(void **state)
{
    for (int i = 0; i < 4; i++) {
        struct served v = {0};
        struct end here = {.free_on_open = i == 0, .free_on_message = i == 1},
                   there = {.free_on_message = i == 2, .free_on_close = i == 3};
        serve_end(&v, &there, false);
        connect_to(&here, "127.0.0.1", v.port, false, 0);
        run_until(has_opened, &here);
        if (i != 0)
            run_until(has_session, &v);
        if (i == 1) { /* two messages in one write: the second is dropped */
            send_ack(v.session, 1);
            send_ack(v.session, 2);
            run_until(has_message, &here);
            run_until(has_closed, &there);
            assert_int_equal(here.messages, 1);
        } else if (i == 2) {
            send_ack(here.s, 1);
            send_ack(here.s, 2);
            run_until(has_message, &there);
            run_until(has_closed, &here);
            assert_int_equal(there.messages, 1);
            rpc_session_free(here.s);
        } else if (i == 3) {
            rpc_session_free(here.s);
            run_until(has_closed, &there);
        }
        settle();
        rpc_server_free(v.server);
    }
}

static void backlog_of_a_session_is_limited(void **state)
{
    struct served v = {0};
    struct end here = {0}, there = {0};
    size_t sent = 0;

    serve_end(&v, &there, true);
    connect_to(&here, "127.0.0.1", v.port, false, RPC_WHO_KEY);
    run_until(has_opened, &here);
    run_until(has_session, &v);
    rpc_session_pause(v.session, true);
    while (rpc_session_backlog(here.s) < 4 * RPC_SESSION_HIGH) {
        send_data(here.s, 1 << 16);
        sent += 1 << 16;
        settle();
    }
    assert_int_equal(there.messages, 0);
    assert_int_equal(here.drained, 0);
    clock_ahead_ms = RPC_STALL_TIMEOUT_MS * 2; /* a terminal that was stopped is no reason to end */
    settle();
    rpc_session_pause(v.session, false);
    while (there.bytes < sent) {
        there.messages = 0;
        run_until(has_message, &there);
    }
    settle();
    assert_int_equal(here.drained, 1);
    assert_int_equal(here.closed + there.closed, 0);
    rpc_session_free(here.s);
    rpc_server_free(v.server);
}

/* Paused inside the processing of one read: no further message is delivered, and none is lost. */
static void pause_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                          const ProtobufCMessage *body)
{
    end_message(ctx, s, rpc, body);
    rpc_session_pause(s, true);
}

static void paused_session_receives_nothing(void **state)
{
    /* The other end stays open, or has closed after the messages. */
    for (int finish = 0; finish < 2; finish++) {
        struct served v = {0};
        struct end here = {0}, there = {0};

        serve_end(&v, &there, false);
        connect_to(&here, "127.0.0.1", v.port, false, 0);
        run_until(has_opened, &here);
        run_until(has_session, &v);
        struct rpc_session_events events = end_events(&there, 0);
        events.on_message = pause_message;
        rpc_session_set_events(v.session, &events);
        assert_false(rpc_session_has_ended(v.session));
        for (uint64_t i = 1; i <= 10; i++)
            send_ack(here.s, i);
        if (finish)
            rpc_session_finish(here.s);
        for (uint64_t i = 1; i <= 10; i++) {
            there.messages = 0;
            run_until(has_message, &there);
            settle();
            assert_int_equal(there.messages, 1);
            assert_int_equal(there.seq, i);
            /* the unread bytes are known to be the rest */
            assert_true(there.closed || rpc_session_has_ended(v.session) == (finish != 0));
            if (there.closed) { /* not before the last one */
                assert_int_equal(i, 10);
                break;
            }
            rpc_session_pause(v.session, false);
        }
        if (finish)
            run_until(has_closed, &there);
        rpc_session_free(here.s);
        rpc_server_free(v.server);
    }
}

/* Everything that was queued arrives, from both kinds of ends; then the session closes. */
static void finished_session_delivers_all_messages(void **state)
{
    for (int accepted = 0; accepted < 2; accepted++) {
        struct served v = {0};
        struct end here = {0}, there = {0}, *to = accepted ? &here : &there,
                   *from = accepted ? &there : &here;
        struct rpc_session *s;
        serve_end(&v, &there, true);
        connect_to(&here, "127.0.0.1", v.port, true, RPC_WHO_KEY);
        run_until(has_opened, &here);
        run_until(has_session, &v);
        s = accepted ? v.session : here.s;
        for (int i = 0; i < 8; i++)
            send_data(s, 1 << 20);
        rpc_session_finish(s);
        send_data(s, 1); /* too late */
        assert_false(rpc_session_is_open(s));
        run_until(has_closed, from);
        run_until(has_closed, to);
        assert_int_equal(from->why.code, 0);
        assert_int_equal(to->why.code, -ERR_CLOSED);
        assert_int_equal(to->bytes, 8 << 20);
        rpc_session_free(here.s);
        rpc_server_free(v.server);
    }
}

/* A session whose last bytes are not read waits; a session whose reader has read them, but does
 * not close, does not wait. */
static void session_finishes_after_all_messages_are_taken(void **state)
{
    struct served v[2] = {0};
    struct end here[2] = {0}, there[2] = {0};
    size_t sent = 0;

    for (int i = 0; i < 2; i++) {
        serve_end(&v[i], &there[i], true);
        connect_to(&here[i], "127.0.0.1", v[i].port, false, RPC_WHO_KEY);
        run_until(has_opened, &here[i]);
        run_until(has_session, &v[i]);
        rpc_session_pause(v[i].session, true);
        send_data(here[i].s, 1);
    }
    for (; rpc_session_unread(here[0].s) < 1 << 17; sent += 1 << 14) {
        send_data(here[0].s, 1 << 14);
        settle();
    }
    assert_int_equal(rpc_session_backlog(here[0].s), 0); /* all of it is in our kernel's buffers */
    for (int i = 0; i < 2; i++)
        rpc_session_finish(here[i].s);
    settle();
    clock_ahead_ms += 1000000;
    run_until(has_closed, &here[1]);
    assert_int_equal(here[1].why.code, 0);
    assert_int_equal(here[0].closed, 0);
    rpc_session_pause(v[0].session, false);
    run_until(has_closed, &there[0]);
    run_until(has_closed, &here[0]);
    assert_int_equal(there[0].bytes, sent + 1);
    assert_int_equal(here[0].why.code, 0);
    for (int i = 0; i < 2; i++) {
        rpc_session_free(here[i].s);
        rpc_server_free(v[i].server);
    }
}

static void finishing_before_open_closes_the_session(void **state)
{
    struct end e = {0};

    connect_to(&e, "127.0.0.1", 1, true, 0);
    rpc_session_finish(e.s);
    run_until(has_closed, &e);
    assert_int_equal(e.why.code, 0);
    settle();
    assert_int_equal(e.closed, 1);
    rpc_session_free(e.s);
}

static void session_may_be_freed_while_connecting(void **state)
{
    struct end e = {0};

    connect_to(&e, "localhost", 1, true, 0);
    settle();
    rpc_session_free(e.s);
    settle();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(invalid_handshakes_are_refused),
        TEST(wrong_proof_is_refused),
        TEST(replayed_handshake_is_refused),
        TEST(server_without_the_key_is_refused),
        TEST(handshake_has_a_deadline),
        TEST(altered_messages_close_the_session),
        TEST(message_size_is_limited),
        TEST(messages_pass_in_both_directions),
        TEST(large_messages_use_the_fast_mac),
        TEST(many_events_are_accepted),
        TEST(each_side_accepts_its_own_messages_only),
        TEST(unreachable_target_is_reported),
        TEST(second_target_is_tried),
        TEST(target_behind_an_impostor_is_reached),
        TEST(session_reconnects),
        TEST(session_follows_the_leading_controller),
        TEST(session_may_be_freed_in_its_callbacks),
        TEST(backlog_of_a_session_is_limited),
        TEST(paused_session_receives_nothing),
        TEST(finished_session_delivers_all_messages),
        TEST(session_finishes_after_all_messages_are_taken),
        TEST(finishing_before_open_closes_the_session),
        TEST(session_may_be_freed_while_connecting),
        LOCAL(messages_pass_in_both_directions),
        LOCAL(large_messages_use_the_fast_mac),
        LOCAL(session_may_be_freed_in_its_callbacks),
        LOCAL(backlog_of_a_session_is_limited),
        LOCAL(paused_session_receives_nothing),
        LOCAL(finished_session_delivers_all_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
