/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Further frames of a request, under the key of its replies; and requests inside others. */
#include "rpc/rpc_test_server.h"

#include "proto/tree.pb-c.h"
#include "rpc/reply.h"
#include "rpc/seal.h"
#include "rpc/talk.h"

static const Pb__Empty nothing = PB__EMPTY__INIT;

static struct taken {
    struct served v;
    unsigned more, parts;
    uint64_t call;
    unsigned rpc;
    char origin[32];
} t;

static void on_more(void *ctx, const struct rpc_more *more)
{
    t.more++;
    t.call = more->call;
    t.rpc = more->rpc->number;
    if (more->rpc->number == RPC_TREE_PART)
        snprintf(t.origin, sizeof(t.origin), "%s", ((const Pb__TreePart *)more->body)->origin);
}

static int setup(void **state)
{
    struct rpc_server_options o = {.key = &key, .audience = AUDIENCE, .admin_uid = 900};
    struct rpc_server_events e = {.on_request = served_request,
                                  .on_more = on_more,
                                  .on_gone = served_gone,
                                  .on_refused = served_refused,
                                  .ctx = &t.v};

    if (world_setup(state) < 0)
        return -1;
    t = (struct taken){.v.hold = true};
    o.loop = loop;
    t.v.server = rpc_server_new(&o, &e);
    t.v.port = rpc_server_listen_tcp(t.v.server, "127.0.0.1", 0, NULL);
    return t.v.port > 0 ? 0 : -1;
}

static int teardown(void **state)
{
    rpc_server_free(t.v.server);
    return world_teardown(state);
}

static bool was_asked(void *ctx)
{
    return t.v.requests > 0;
}
static bool has_more(void *ctx)
{
    return t.more >= *(unsigned *)ctx;
}

/* Sends a held request on a raw socket, and makes the seal of its further frames. */
static void begin_held_request(struct raw *r, struct made *m, struct rpc_seal *seal)
{
    struct auth_key answers;

    make_request(m, RPC_PING, &nothing.base, 1000, true);
    raw_tcp(r, t.v.port);
    raw_send(r, m->bytes.data, m->bytes.len);
    run_until(was_asked, NULL);
    auth_answer_key(&key, m->token, &answers);
    rpc_seal_answers(seal, &answers, true);
}

static void make_more(struct str *out, struct rpc_seal *seal, uint64_t id, const char *origin)
{
    Pb__TreePart part = PB__TREE_PART__INIT;
    _cleanup_str_ struct str body = STR_INIT;
    uint8_t mac[AUTH_MAC_SIZE];
    struct rpc_header h = {.version = RPC_VERSION,
                           .rpc = RPC_TREE_PART,
                           .flags = RPC_FLAG_MORE,
                           .token_len = AUTH_MAC_SIZE,
                           .id = id};

    part.origin = (char *)origin;
    pb_pack(&part.base, &body);
    h.body_len = (uint32_t)body.len;
    rpc_seal_sign(seal, &h, body.data, mac);
    str_clear(out);
    rpc_frame_append(out, &h, mac, body.data);
}

static void further_frames_arrive_in_order(void **state)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    struct rpc_seal seal;
    struct rpc_header h;
    struct raw r;
    struct made m;

    begin_held_request(&r, &m, &seal);
    for (unsigned i = 1; i <= 3; i++) {
        char origin[8] = {(char)('a' + i), '\0'};

        make_more(&bytes, &seal, 77, origin);
        raw_send(&r, bytes.data, bytes.len);
        run_until(has_more, &i);
        assert_string_equal(t.origin, origin);
        assert_int_equal(t.call, t.v.last_call);
        assert_int_equal(t.rpc, RPC_TREE_PART);
    }
    rpc_reply_bytes(t.v.server, t.v.last_call, NULL, 0, false);
    raw_frame(&r, &h, NULL);

    /* The request has ended: a late frame is read and dropped, and another request is served. */
    make_more(&bytes, &seal, 77, "late");
    raw_send(&r, bytes.data, bytes.len);
    made_done(&m);
    make_request(&m, RPC_STATS, &nothing.base, 1000, true);
    raw_send(&r, m.bytes.data, m.bytes.len);
    t.v.hold = false;
    raw_frame(&r, &h, NULL);
    assert_int_equal(t.more, 3);
    assert_int_equal(h.rpc, RPC_STATS);
    raw_close(&r);
    made_done(&m);
}

/* Altered, repeated, for another request, of a stranger: always refused. */
static void forged_further_frames_are_refused(void **state)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        _cleanup_str_ struct str bytes = STR_INIT;
        struct rpc_seal seal;
        struct raw r, stranger;
        struct made m;
        unsigned once = 1;

        t.v.requests = t.more = 0;
        begin_held_request(&r, &m, &seal);
        make_more(&bytes, &seal, 77, "x");
        if (kind == 0)
            bytes.data[bytes.len - 1] ^= 1;
        if (kind == 1) {
            raw_send(&r, bytes.data, bytes.len);
            run_until(has_more, &once);
        }
        if (kind == 2) {
            rpc_seal_answers(&seal, &key, true);
            make_more(&bytes, &seal, 77, "x");
        }
        if (kind == 3) {
            raw_tcp(&stranger, t.v.port);
            raw_send(&stranger, bytes.data, bytes.len);
            raw_refused(&stranger, -ERR_PROTOCOL, NULL);
            raw_close(&stranger);
        } else {
            raw_send(&r, bytes.data, bytes.len);
            raw_refused(&r, -ERR_AUTH, NULL);
            run_until(raw_ended, &r);
        }
        assert_int_equal(t.more, kind == 1);
        raw_close(&r);
        made_done(&m);
    }
}

/* A handler that does not expect further frames refuses them. */
static void unexpected_further_frames_are_refused(void **state)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    struct served plain = {.hold = true};
    struct rpc_seal seal;
    struct raw r;
    struct made m;

    serve(&plain, NULL);
    make_request(&m, RPC_PING, &nothing.base, 1000, true);
    raw_tcp(&r, plain.port);
    raw_send(&r, m.bytes.data, m.bytes.len);
    auth_answer_key(&key, m.token, &seal.tx_key);
    rpc_seal_answers(&seal, &(struct auth_key){0}, true);
    make_more(&bytes, &seal, 77, "x");
    raw_send(&r, bytes.data, bytes.len);
    raw_refused(&r, -ERR_PROTOCOL, NULL);
    raw_close(&r);
    made_done(&m);
    rpc_server_free(plain.server);
}

/* Requests inside others. */

static struct inner_answer {
    unsigned count;
    int code;
    char text[100];
    size_t len;
} got;

static void on_answered(void *ctx, int code, const void *answer, size_t len)
{
    got.count++;
    got.code = code;
    got.len = len;
    snprintf(got.text, sizeof(got.text), "%.*s", code ? (int)len : 0, (const char *)answer);
}

static void inner_calls_have_the_rights_of_their_user(void **state)
{
    static const struct {
        unsigned rpc, roles;
        size_t len;
        int code;
    } rows[] = {
        {RPC_PING, RPC_WHO_USER, 0, 0},
        {RPC_SHUTDOWN, RPC_WHO_USER, 0, ERR_ACCESS},
        {RPC_MINT, RPC_WHO_USER | RPC_WHO_ADMIN, 0, ERR_ACCESS},
        {RPC_NODE_REPORT, RPC_WHO_USER | RPC_WHO_ADMIN, 0, ERR_ACCESS},
        {9999, RPC_WHO_USER, 0, ERR_PROTOCOL},
        {RPC_PING, RPC_WHO_USER, 3, ERR_PROTOCOL},
    };
    struct rpc_seal seal;
    struct rpc_header h;
    struct raw r;
    struct made m;
    uint64_t outer;

    begin_held_request(&r, &m, &seal);
    outer = t.v.last_call;
    t.v.hold = false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rpc_inner inner = {.outer = outer,
                                  .rpc = rows[i].rpc,
                                  .body = "\xff\xff\xff",
                                  .len = rows[i].len,
                                  .who = {.uid = 1000},
                                  .roles = rows[i].roles,
                                  .peer = "elsewhere:7",
                                  .answered = on_answered};

        got.count = 0;
        rpc_call_inner(t.v.server, &inner);
        assert_int_equal(got.count, 1);
        assert_int_equal(got.code, rows[i].code);
        if (i == 0) {
            assert_string_equal(t.v.peer, "elsewhere:7");
            assert_true(got.len > 0);
        }
    }
    /* A waiting one ends with the connection, and its reply is dropped. */
    t.v.hold = true;
    got.count = 0;
    rpc_call_inner(t.v.server, &(struct rpc_inner){.outer = outer,
                                                   .rpc = RPC_PING,
                                                   .roles = RPC_WHO_USER,
                                                   .peer = "x",
                                                   .answered = on_answered});
    rpc_reply_error(t.v.server, outer, ERR_BUSY, "no");
    raw_frame(&r, &h, NULL); /* only the outer reply */
    rpc_net_reset_on_close(r.fd);
    raw_close(&r);
    settle();
    assert_int_equal(t.v.gone, 1);
    rpc_reply_bytes(t.v.server, t.v.last_call, NULL, 0, false);
    assert_int_equal(got.count, 0);
    made_done(&m);
}

/* A connection with a request that waits. */
struct asker {
    struct raw raw;
    struct made made;
    uint64_t outer;
};

static void asker_open(struct asker *a)
{
    struct rpc_seal seal;

    t.v.requests = 0;
    begin_held_request(&a->raw, &a->made, &seal);
    a->outer = t.v.last_call;
}

/* Closes the connection; what waits inside its request ends as well. */
static void asker_close(struct asker *a)
{
    unsigned gone = t.v.gone;

    rpc_net_reset_on_close(a->raw.fd);
    raw_close(&a->raw);
    settle();
    assert_true(t.v.gone > gone);
    made_done(&a->made);
}

/* Calls with equal requests get equal replies, whichever of them are left. */
static void equal_requests_get_equal_replies(void **state)
{
    struct asker stays, goes;
    uint64_t calls[20];

    for (unsigned kind = 0; kind < 3; kind++) {
        asker_open(&stays);
        asker_open(&goes);
        for (size_t i = 0; i < 20; i++)
            calls[i] = rpc_call_inner(
                t.v.server, &(struct rpc_inner){.outer = i < kind ? goes.outer : stays.outer,
                                                .rpc = RPC_PING,
                                                .roles = RPC_WHO_USER,
                                                .peer = "x",
                                                .answered = on_answered});
        for (size_t i = 1; i < 4; i++)
            rpc_call_join(t.v.server, calls[0], calls[i]);
        assert_true(rpc_call_is_joined(t.v.server, calls[0], calls[3]));
        assert_false(rpc_call_is_joined(t.v.server, calls[0], calls[4]));
        got.count = 0;
        asker_close(&goes);
        assert_int_equal(got.count, 0);
        if (kind == 0) {
            rpc_reply_bytes(t.v.server, calls[0], NULL, 0, false);
            assert_int_equal(got.count, 4);
        } else if (kind == 1) { /* the first has already ended */
            rpc_reply_error(t.v.server, calls[0], -ERR_BUSY, "no");
            assert_int_equal(got.count, 3);
            assert_int_equal(got.code, ERR_BUSY);
        } else {
            assert_int_equal(rpc_call_heir(t.v.server, calls[0]), calls[2]);
            assert_int_equal(rpc_call_heir(t.v.server, calls[0]), 0);
            rpc_reply_bytes(t.v.server, calls[2], NULL, 0, false);
            assert_int_equal(got.count, 2);
        }
        got.count = 0;
        for (size_t i = 5; i < 20; i++) /* more than are kept */
            for (unsigned twice = 0; twice < 2; twice++)
                rpc_call_join(t.v.server, calls[4], calls[i]);
        rpc_reply_bytes(t.v.server, calls[4], NULL, 0, false);
        assert_true(got.count > 1 && got.count <= 16);
        asker_close(&stays);
    }
}

/* The calling side. */

static unsigned answers, lasts, failures;
static bool was_refused;

static void talk_answer(void *ctx, const ProtobufCMessage *answer, bool last)
{
    answers++;
    lasts += last;
}
static void talk_failed(void *ctx, const struct err *why, bool refused)
{
    was_refused = refused;
    failures++;
}
static bool talk_over(void *ctx)
{
    return lasts + failures > 0;
}

static void talk_ends_with_an_answer_or_a_failure(void **state)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        struct rpc_talk_events events = {.on_answer = talk_answer, .on_failed = talk_failed};
        Pb__TreeRequest request = PB__TREE_REQUEST__INIT;
        Pb__TreePart part = PB__TREE_PART__INIT;
        struct rpc_io *io = rpc_io_new(loop);
        struct rpc_minted minted;
        struct rpc_talk *talk;
        struct rpc_addr addr;
        struct made m;
        unsigned two = 2;
        bool pending;

        answers = lasts = failures = t.more = t.v.requests = 0;
        make_request(&m, RPC_TREE, &request.base, 1000, true);
        memcpy(minted.token, m.token, sizeof(minted.token));
        rpc_minted_fill(&minted, &key);
        if (kind == 2)
            minted.answers.mac_key[0] ^= 1;
        assert_int_equal(rpc_net_resolve("127.0.0.1", (uint16_t)t.v.port, true, &addr, NULL), 1);
        talk = rpc_talk_start(io, rpc_net_connect(&addr, 0, &pending), &m.header, &minted,
                              m.body.data, &events);
        rpc_talk_send(talk, RPC_TREE_PART, &part.base);
        rpc_talk_send(talk, RPC_TREE_COMMIT, &nothing.base);
        if (kind < 2) {
            run_until(has_more, &two);
            rpc_reply_bytes(t.v.server, t.v.last_call, NULL, 0, true);
            if (kind == 0)
                rpc_reply_bytes(t.v.server, t.v.last_call, NULL, 0, false);
            else
                rpc_reply_error(t.v.server, t.v.last_call, ERR_BUSY, "no");
        }
        run_until(talk_over, NULL);
        assert_int_equal(lasts, kind == 0);
        assert_int_equal(failures, kind != 0);
        assert_int_equal(was_refused, kind != 0);
        assert_int_equal(answers, kind == 0 ? 2 : kind == 1);
        made_done(&m);
        settle();
        rpc_io_free(io);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(further_frames_arrive_in_order),
        TEST(forged_further_frames_are_refused),
        TEST(unexpected_further_frames_are_refused),
        TEST(inner_calls_have_the_rights_of_their_user),
        TEST(equal_requests_get_equal_replies),
        TEST(talk_ends_with_an_answer_or_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
