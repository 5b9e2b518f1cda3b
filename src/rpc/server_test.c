/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/reply.h"
#include "rpc/rpc_test_server.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "proto/tree.pb-c.h"

static const Pb__Empty nothing = PB__EMPTY__INIT;

static bool was_asked(void *ctx)
{
    return ((struct served *)ctx)->requests > 0;
}
static bool caller_gone(void *ctx)
{
    return ((struct served *)ctx)->gone > 0;
}

/* Sends everything; the reply is this refusal, and the connection ends. */
static void assert_refused(struct served *v, const void *bytes, size_t len, int code, bool local)
{
    struct raw r;

    v->refused = 0;
    if (local)
        raw_take(&r, rpc_net_connect_unix(socket_path));
    else
        raw_tcp(&r, v->port);
    raw_send(&r, bytes, len);
    raw_refused(&r, code, NULL);
    run_until(raw_ended, &r);
    assert_int_equal(r.in.len, 0);
    assert_int_equal(v->refused, 1);
    assert_int_equal(v->requests, 0);
    raw_close(&r);
}

static void altered_headers_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        int code;
    } rows[] = {
        {0, 'X', -ERR_PROTOCOL}, {3, 0, -ERR_PROTOCOL},     {4, 2, -ERR_VERSION},
        {5, 1, -ERR_VERSION},    {6, 200, -ERR_PROTOCOL},   {7, 255, -ERR_PROTOCOL},
        {8, 1, -ERR_PROTOCOL},   {8, 2, -ERR_PROTOCOL},     {8, 4, -ERR_PROTOCOL},
        {8, 8, -ERR_PROTOCOL},   {8, 16, -ERR_PROTOCOL},    {9, 128, -ERR_PROTOCOL},
        {10, 1, -ERR_PROTOCOL},  {11, 0, -ERR_AUTH},        {11, 2, -ERR_PROTOCOL},
        {15, 2, -ERR_TOO_BIG},   {15, 255, -ERR_TOO_BIG},   {16, 1, -ERR_AUTH},
        {23, 1, -ERR_AUTH},      {6, RPC_STATS, -ERR_AUTH},
    };
    struct served v = {0};

    serve(&v, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct made m;
        make_request(&m, RPC_PING, &nothing.base, 1000, true);
        m.bytes.data[rows[i].at] = (char)rows[i].value;
        assert_refused(&v, m.bytes.data, m.bytes.len, rows[i].code, false);
        made_done(&m);
    }
    rpc_server_free(v.server);
}

static void altered_tokens_are_refused(void **state)
{
    struct served v = {0};
    struct made m;
    struct auth_key good = key;

    serve(&v, NULL);
    for (size_t at = 0; at < AUTH_TOKEN_SIZE; at++) {
        make_request(&m, RPC_PING, &nothing.base, 1000, true);
        m.bytes.data[RPC_HEADER_SIZE + at] ^= (char)(1u << at % 8);
        assert_refused(&v, m.bytes.data, m.bytes.len, -ERR_AUTH, false);
        made_done(&m);
    }
    auth_key_from_bytes("the key of another cluster......", 32, &key);
    make_request(&m, RPC_PING, &nothing.base, 0, true);
    key = good;
    assert_refused(&v, m.bytes.data, m.bytes.len, -ERR_AUTH, false);
    made_done(&m);
    make_request(&m, RPC_PING, &nothing.base, 0, false);
    assert_refused(&v, m.bytes.data, m.bytes.len, -ERR_AUTH, false);
    made_done(&m);
    rpc_server_free(v.server);
}

/* Tokens for another audience, expired ones, and ones minted before the server started. */
static void tokens_for_another_audience_are_refused(void **state)
{
    static const struct {
        const char *audience;
        int64_t minted; /* ms after now */
        int code;
    } rows[] = {
        {"node1", 0, -ERR_AUTH},
        {AUDIENCE, -120000, -ERR_SKEW},
        {AUDIENCE, 120000, -ERR_SKEW},
        {AUDIENCE, -30000, -ERR_REPLAY},
    };
    struct auth_identity who = {.host = "test"};
    struct served v = {0};

    serve(&v, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t hash[AUTH_HASH_SIZE];
        struct made m;
        make_request(&m, RPC_PING, &nothing.base, 0, true);
        rpc_frame_hash(&m.header, m.body.data, hash);
        auth_token_mint(&key, &who, rows[i].audience, hash, loop_wall_ms() + rows[i].minted, 60000,
                        m.token);
        str_clear(&m.bytes);
        rpc_frame_append(&m.bytes, &m.header, m.token, m.body.data);
        assert_refused(&v, m.bytes.data, m.bytes.len, rows[i].code, false);
        made_done(&m);
    }
    rpc_server_free(v.server);
}

static void replayed_request_is_refused(void **state)
{
    struct served v = {0};
    struct made m;
    struct raw r;
    struct rpc_header h;

    serve(&v, NULL);
    make_request(&m, RPC_PING, &nothing.base, 1000, true);
    raw_tcp(&r, v.port);
    raw_send(&r, m.bytes.data, m.bytes.len);
    raw_frame(&r, &h, NULL);
    assert_int_equal(h.flags, RPC_FLAG_REPLY);
    assert_int_equal(h.id, m.header.id);
    assert_false(v.is_secret);
    raw_send(&r, m.bytes.data, m.bytes.len); /* on the same connection */
    raw_refused(&r, -ERR_REPLAY, NULL);
    run_until(raw_ended, &r);
    raw_close(&r);
    v.requests = 0;
    assert_refused(&v, m.bytes.data, m.bytes.len, -ERR_REPLAY, false); /* and on another */
    made_done(&m);
    rpc_server_free(v.server);
}

/* The token of one message with the body of another. */
static void token_with_another_body_is_refused(void **state)
{
    Pb__ConfigRequest a = PB__CONFIG_REQUEST__INIT, b = PB__CONFIG_REQUEST__INIT;
    struct served v = {0};
    struct made one, two;

    serve(&v, NULL);
    a.key = "ClusterName";
    b.key = "SlurmdDebug";
    make_request(&one, RPC_CONFIG_SHOW, &a.base, 1000, true);
    make_request(&two, RPC_CONFIG_SHOW, &b.base, 1000, true);
    memcpy(one.bytes.data + RPC_HEADER_SIZE, two.token, AUTH_TOKEN_SIZE);
    assert_refused(&v, one.bytes.data, one.bytes.len, -ERR_AUTH, false);
    made_done(&one);
    made_done(&two);
    rpc_server_free(v.server);
}

static void malformed_bodies_are_refused(void **state)
{
    static const struct {
        enum rpc_number rpc;
        const char *bytes;
        size_t len;
    } rows[] = {
        {RPC_PING, "\xff", 1},                 /* an incomplete tag */
        {RPC_PING, "\x0a\x05hell", 6},         /* a string that is cut */
        {RPC_PING, "\x00\x00", 2},             /* field number 0 */
        {RPC_CONFIG_SHOW, "\x0a\x01k\xff", 4}, /* garbage after a valid message */
        {RPC_JOB_SCRIPT, "", 0},               /* a required field is missing */
        {RPC_SUBMIT, "\x0a\xff\xff\xff\xff\x0f", 6},
        {RPC_STEP_COMPLETE, "\x08\x01", 2},
    };
    struct served v = {0};

    serve(&v, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int local = 0; local < 2; local++) {
            struct made m;
            make_request(&m, rows[i].rpc, &nothing.base, 0, !local);
            str_clear(&m.body);
            str_append(&m.body, rows[i].bytes, rows[i].len);
            seal_request(&m, 0);
            assert_refused(&v, m.bytes.data, m.bytes.len, -ERR_PROTOCOL, local);
            made_done(&m);
        }
    }
    rpc_server_free(v.server);
}

static void local_frame_with_a_token_is_refused(void **state)
{
    struct served v = {0};
    struct made m;

    serve(&v, NULL);
    make_request(&m, RPC_PING, &nothing.base, 0, true); /* a token where the kernel vouches */
    assert_refused(&v, m.bytes.data, m.bytes.len, -ERR_PROTOCOL, true);
    made_done(&m);
    assert_refused(&v, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, -ERR_PROTOCOL, true);
    assert_refused(&v, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, -ERR_PROTOCOL, false);
    rpc_server_free(v.server);
}

/* A body of exactly this many bytes: an unknown field of the right length. */
static void fill_body(struct str *body, size_t len)
{
    size_t inner = len - 6;
    uint8_t head[6] = {0x7a,
                       (uint8_t)(inner | 0x80),
                       (uint8_t)(inner >> 7 | 0x80),
                       (uint8_t)(inner >> 14 | 0x80),
                       (uint8_t)(inner >> 21 | 0x80),
                       (uint8_t)(inner >> 28)};

    str_clear(body);
    str_append(body, head, sizeof(head));
    str_reserve(body, inner);
    memset(body->data + body->len, 'x', inner);
    body->len += inner;
}

#define PING_MAX 4096

static void body_size_is_limited(void **state)
{
    static const struct {
        unsigned rpc;
        size_t len;
        int code;
    } rows[] = {
        {RPC_TREE_PART, RPC_BODY_MAX - 1, 0},
        {RPC_TREE_PART, RPC_BODY_MAX, 0},
        {RPC_TREE_PART, RPC_BODY_MAX + 1, -ERR_TOO_BIG},
        {RPC_PING, PING_MAX - 1, 0},
        {RPC_PING, PING_MAX, 0},
        {RPC_PING, PING_MAX + 1, -ERR_TOO_BIG},
        {RPC_PING, RPC_BODY_MAX, -ERR_TOO_BIG},
    };
    struct served v = {0};

    serve(&v, NULL);
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        bool local = i % 2;
        size_t row = i / 2;
        struct made m;
        struct raw r;
        struct rpc_header h;
        make_request(&m, rows[row].rpc, &nothing.base, 0, !local);
        fill_body(&m.body, rows[row].len);
        seal_request(&m, 0);
        if (rows[row].code) {
            v.requests = 0;
            /* The header alone: it is refused before a byte of the body is there. */
            assert_refused(&v, m.bytes.data, RPC_HEADER_SIZE, rows[row].code, local);
            made_done(&m);
            continue;
        }
        if (local)
            raw_take(&r, rpc_net_connect_unix(socket_path));
        else
            raw_tcp(&r, v.port);
        raw_send(&r, m.bytes.data, m.bytes.len);
        raw_frame(&r, &h, NULL);
        assert_int_equal(h.flags, RPC_FLAG_REPLY);
        raw_close(&r);
        made_done(&m);
    }
    rpc_server_free(v.server);
}

/* Without a valid token the server does not wait for the body. */
static void unauthenticated_body_is_not_read(void **state)
{
    struct served v = {0};
    struct made m;

    serve(&v, NULL);
    make_request(&m, RPC_SUBMIT, &nothing.base, 0, true);
    fill_body(&m.body, 1u << 20);
    seal_request(&m, 0);
    m.bytes.data[RPC_HEADER_SIZE + 100] ^= 1;
    assert_refused(&v, m.bytes.data, RPC_HEADER_SIZE + AUTH_TOKEN_SIZE, -ERR_AUTH, false);
    m.header.token_len = 0;
    seal_request(&m, 0);
    assert_refused(&v, m.bytes.data, RPC_HEADER_SIZE, -ERR_AUTH, false);
    made_done(&m);
    rpc_server_free(v.server);
}

/* Byte by byte, and cut at every place. */
static void request_in_pieces_is_assembled(void **state)
{
    Pb__ConfigRequest ask = PB__CONFIG_REQUEST__INIT;
    struct served v = {0};
    struct made m;
    struct raw r;
    struct rpc_header h;

    serve(&v, NULL);
    ask.key = "ClusterName";
    make_request(&m, RPC_CONFIG_SHOW, &ask.base, 1000, true);
    raw_tcp(&r, v.port);
    for (size_t i = 0; i < m.bytes.len; i++) {
        assert_int_equal(v.requests, 0);
        raw_send(&r, m.bytes.data + i, 1);
        settle();
    }
    raw_frame(&r, &h, NULL);
    assert_int_equal(v.requests, 1);
    raw_close(&r);
    made_done(&m);
    for (size_t cut = 0; cut < m.bytes.len; cut++) {
        make_request(&m, RPC_CONFIG_SHOW, &ask.base, 1000, true);
        raw_tcp(&r, v.port);
        raw_send(&r, m.bytes.data, cut);
        shutdown(r.fd, SHUT_WR);
        run_until(raw_ended, &r);
        assert_int_equal(v.requests, 1);
        raw_close(&r);
        made_done(&m);
    }
    rpc_server_free(v.server);
}

#define LONG_KEY 300000u /* bytes; the limit of a TREE_PART, which few requests reach */

static char *long_key(void)
{
    char *text = mem_alloc(LONG_KEY + 1);

    for (unsigned i = 0; i < LONG_KEY; i++)
        text[i] = (char)('a' + i * 7 % 26 * (i % 3 != 0));
    return text;
}

static void compare_key(struct served *v, const struct rpc_request *r)
{
    _cleanup_free_ char *text = long_key();

    if (r->rpc->number == RPC_TREE_PART)
        assert_string_equal(((const Pb__TreePart *)r->body)->origin, text);
    rpc_reply_bytes(v->server, r->call, NULL, 0, false);
}

/* They are assembled in the buffer that they are read into, and bytes after a frame in the same
 * packet do not belong to it. */
static void long_frames_are_assembled_in_place(void **state)
{
    static const size_t steps[] = {1, 1000, 65535, 65536, 65537, 100000, 262144, 262145, 700000};
    Pb__TreePart ask = PB__TREE_PART__INIT;
    struct served v = {.answer = compare_key};
    _cleanup_free_ char *text = long_key();

    serve(&v, NULL);
    ask.origin = text;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        _cleanup_str_ struct str all = STR_INIT;
        struct rpc_header h;
        struct raw r;

        for (int k = 0; k < 3; k++) { /* a long one, a short one, a long one */
            struct made m;
            make_request(&m, k == 1 ? RPC_PING : RPC_TREE_PART, k == 1 ? &nothing.base : &ask.base,
                         1000, true);
            str_append(&all, m.bytes.data, m.bytes.len);
            made_done(&m);
        }
        v.requests = 0;
        raw_tcp(&r, v.port);
        for (size_t at = 0; at < all.len; at += steps[i] == 1 && at > 2000 ? 150000 : steps[i]) {
            size_t step = steps[i] == 1 && at > 2000 ? 150000 : steps[i];
            raw_send(&r, all.data + at, all.len - at < step ? all.len - at : step);
            settle();
        }
        for (int k = 0; k < 3; k++)
            raw_frame(&r, &h, NULL);
        assert_int_equal(v.requests, 3);
        raw_close(&r);
    }
    rpc_server_free(v.server);
}

static void slow_sender_is_disconnected(void **state)
{
    struct served v = {0};
    struct made m;
    struct raw slow[2], idle;
    struct rpc_header h;

    serve(&v, NULL);
    make_request(&m, RPC_PING, &nothing.base, 1000, true);
    raw_tcp(&slow[0], v.port);
    raw_tcp(&idle, v.port);
    raw_send(&idle, m.bytes.data, m.bytes.len); /* has authenticated */
    raw_frame(&idle, &h, NULL);
    raw_send(&slow[0], m.bytes.data, 10);
    raw_take(&slow[1], rpc_net_connect_unix(socket_path));
    raw_send(&slow[1], m.bytes.data, 1);
    settle();
    clock_ahead_ms = RPC_READ_TIMEOUT_MS - 2000;
    raw_send(&slow[0], m.bytes.data + 10, 1); /* another byte buys no time */
    settle();
    assert_false(slow[0].eof);
    clock_ahead_ms = RPC_READ_TIMEOUT_MS;
    run_until(raw_ended, &slow[0]);
    run_until(raw_ended, &slow[1]);
    assert_false(idle.eof);
    assert_int_equal(v.refused, 2);
    assert_non_null(strstr(v.why, "slowly"));
    raw_close(&slow[0]);
    raw_close(&slow[1]);
    raw_close(&idle);
    made_done(&m);
    rpc_server_free(v.server);
}

static void idle_callers_are_disconnected(void **state)
{
    struct served v = {.hold = true};
    struct raw idle, waiting, local;
    struct made m;

    serve(&v, NULL);
    make_request(&m, RPC_STATS, &nothing.base, 1000, true);
    raw_tcp(&idle, v.port);
    raw_tcp(&waiting, v.port);
    raw_take(&local, rpc_net_connect_unix(socket_path));
    raw_send(&waiting, m.bytes.data, m.bytes.len);
    run_until(was_asked, &v);
    clock_ahead_ms = RPC_IDLE_TIMEOUT_MS;
    run_until(raw_ended, &idle);
    settle();
    assert_false(waiting.eof); /* has a call open */
    assert_false(local.eof);
    rpc_reply_bytes(v.server, v.last_call, NULL, 0, false);
    clock_ahead_ms += RPC_IDLE_TIMEOUT_MS;
    run_until(raw_ended, &waiting);
    assert_false(local.eof);
    raw_close(&idle);
    raw_close(&waiting);
    raw_close(&local);
    made_done(&m);
    rpc_server_free(v.server);
}

static void rights_of_the_user_are_checked(void **state)
{
    static const struct {
        uid_t uid;
        enum rpc_number rpc;
        int code;
    } rows[] = {
        {1000, RPC_SHUTDOWN, -ERR_ACCESS},
        {901, RPC_SHUTDOWN, -ERR_ACCESS},
        {900, RPC_SHUTDOWN, 0},
        {0, RPC_SHUTDOWN, 0},
        {1000, RPC_DIAG_RESET, -ERR_ACCESS}, /* operators */
        {900, RPC_DIAG_RESET, 0},
        {0, RPC_STEPD_QUERY, -ERR_ACCESS}, /* local only */
        {0, RPC_MINT, -ERR_ACCESS},
        {1000, RPC_STATS, 0},
        {0, RPC_NODE_ACK, -ERR_ACCESS}, /* sessions only */
        {0, RPC_IO_DATA, -ERR_ACCESS},
    };
    struct served v = {0};
    struct raw r;

    serve(&v, NULL);
    raw_tcp(&r, v.port); /* one connection: a denied request does not end it */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rpc_header h;
        struct made m;
        v.requests = v.refused = 0;
        make_request(&m, rows[i].rpc, &nothing.base, rows[i].uid, true);
        raw_send(&r, m.bytes.data, m.bytes.len);
        if (rows[i].code) {
            char uid[32];
            raw_refused(&r, rows[i].code, NULL);
            assert_int_equal(v.requests, 0);
            assert_int_equal(v.refused, 1);
            snprintf(uid, sizeof(uid), "uid %u", rows[i].uid);
            assert_non_null(strstr(v.why, uid));
            assert_non_null(strstr(v.why, rpc_find(rows[i].rpc)->name));
        } else {
            raw_frame(&r, &h, NULL);
            assert_int_equal(h.flags, RPC_FLAG_REPLY);
            assert_int_equal(v.requests, 1);
            assert_int_equal(v.who.uid, rows[i].uid);
            assert_string_equal(v.who.host, "test");
        }
        made_done(&m);
    }
    raw_close(&r);
    rpc_server_free(v.server);
}

static void local_caller_has_the_uid_of_its_process(void **state)
{
    struct served v = {0};
    struct made m;
    struct raw r;
    struct rpc_header h;
    char want[64];

    serve(&v, NULL);
    make_request(&m, RPC_PING, &nothing.base, 4711, false);
    raw_take(&r, rpc_net_connect_unix(socket_path));
    raw_send(&r, m.bytes.data, m.bytes.len);
    raw_frame(&r, &h, NULL);
    assert_int_equal(v.who.uid, geteuid());
    assert_int_equal(v.who.gid, getegid());
    assert_true(v.roles & RPC_WHO_LOCAL);
    assert_true(v.is_secret);
    snprintf(want, sizeof(want), "local uid %u", (unsigned)geteuid());
    assert_string_equal(v.peer, want);
    raw_close(&r);
    made_done(&m);
    rpc_server_free(v.server);
}

static void open_calls_are_limited(void **state)
{
    struct served v = {.hold = true};
    struct raw r;
    struct made m;

    serve(&v, NULL);
    raw_take(&r, rpc_net_connect_unix(socket_path));
    for (unsigned i = 0; i < RPC_CALLS_PER_CONNECTION + 1; i++) {
        make_request(&m, RPC_STATS, &nothing.base, 0, false);
        raw_send(&r, m.bytes.data, m.bytes.len);
        made_done(&m);
    }
    raw_refused(&r, -ERR_BUSY, NULL);
    assert_int_equal(v.requests, RPC_CALLS_PER_CONNECTION);
    raw_close(&r);
    run_until(caller_gone, &v);
    assert_int_equal(v.gone, RPC_CALLS_PER_CONNECTION);
    rpc_server_free(v.server);
}

/* Answered later, out of order, on one connection; and a caller that does not wait. */
static void held_calls_are_answered_out_of_order(void **state)
{
    struct served v = {.hold = true};
    struct raw r;
    struct made m;
    struct rpc_header h;
    uint64_t calls[3];

    serve(&v, NULL);
    raw_tcp(&r, v.port);
    for (unsigned i = 0; i < 3; i++) {
        make_request(&m, RPC_STATS, &nothing.base, 0, true);
        m.header.id = i;
        seal_request(&m, 0);
        v.requests = 0;
        raw_send(&r, m.bytes.data, m.bytes.len);
        run_until(was_asked, &v);
        calls[i] = v.last_call;
        made_done(&m);
    }
    rpc_reply_error(v.server, calls[2], -ERR_NO_JOB, "job 7: no such job");
    raw_refused(&r, -ERR_NO_JOB, NULL);
    rpc_reply_bytes(v.server, calls[0], NULL, 0, false);
    raw_frame(&r, &h, NULL);
    assert_int_equal(h.id, 0);
    rpc_reply_bytes(v.server, calls[0], NULL, 0, false); /* a second answer is none */
    rpc_reply_bytes(v.server, 123456, NULL, 0, false);
    settle();
    assert_int_equal(r.in.len, 0);
    rpc_net_reset_on_close(r.fd);
    raw_close(&r);
    run_until(caller_gone, &v);
    assert_int_equal(v.gone, 1);
    assert_int_equal(v.last_gone, calls[1]);
    rpc_reply_bytes(v.server, calls[1], NULL, 0, false);
    rpc_reply_error(v.server, calls[1], -ERR_BUSY, NULL);
    assert_int_equal(rpc_backlog(v.server, calls[1]), 0);
    rpc_server_free(v.server);
}

static bool is_drained(void *ctx)
{
    return ((struct served *)ctx)->drained > 0;
}

static void reply_in_parts_is_sent(void **state)
{
    enum { PART = 100000, PARTS = 40 };
    struct served v = {.hold = true};
    static char part[PART];
    struct raw r;
    struct made m;

    serve(&v, NULL);
    raw_take(&r, rpc_net_connect_unix(socket_path));
    loop_fd_events(r.watch, 0); /* the caller does not read */
    make_request(&m, RPC_JOB_LIST, &nothing.base, 0, false);
    raw_send(&r, m.bytes.data, m.bytes.len);
    run_until(was_asked, &v);
    for (int i = 0; i < PARTS; i++)
        rpc_reply_bytes(v.server, v.last_call, part, PART, true);
    settle();
    assert_int_equal(v.drained, 0);
    assert_true(rpc_backlog(v.server, v.last_call) > PART * (PARTS - 10));
    loop_fd_events(r.watch, LOOP_READ);
    run_until(is_drained, &v);
    assert_true(rpc_backlog(v.server, v.last_call) <= RPC_SESSION_LOW);
    rpc_reply_bytes(v.server, v.last_call, NULL, 0, false);
    for (int i = 0; i < PARTS; i++) {
        struct rpc_header h;
        raw_frame(&r, &h, NULL);
        assert_int_equal(h.flags, RPC_FLAG_REPLY | RPC_FLAG_MORE);
        assert_int_equal(h.body_len, PART);
    }
    struct rpc_header h;
    raw_frame(&r, &h, NULL);
    assert_int_equal(h.flags, RPC_FLAG_REPLY);
    raw_close(&r);
    made_done(&m);
    rpc_server_free(v.server);
}

/* A caller that reads no replies is disconnected. */
static void slow_reader_is_disconnected(void **state)
{
    static char part[1 << 20];
    struct served v = {.hold = true};
    struct raw r;
    struct made m;

    serve(&v, NULL);
    raw_take(&r, rpc_net_connect_unix(socket_path));
    loop_fd_events(r.watch, 0);
    make_request(&m, RPC_JOB_LIST, &nothing.base, 0, false);
    raw_send(&r, m.bytes.data, m.bytes.len);
    run_until(was_asked, &v);
    rpc_reply_bytes(v.server, v.last_call, part, sizeof(part), true);
    settle();
    clock_ahead_ms = RPC_STALL_PRESSED_MS + 1000;
    settle();
    assert_int_equal(v.gone, 0);
    clock_ahead_ms = RPC_STALL_TIMEOUT_MS + 1000;
    run_until(caller_gone, &v);
    raw_close(&r);
    made_done(&m);
    rpc_server_free(v.server);
}

static void too_large_answer_becomes_an_error(void **state)
{
    struct served v = {.hold = true};
    struct raw r;
    struct made m;
    char *big = mem_alloc(RPC_BODY_MAX + 1);

    serve(&v, NULL);
    raw_take(&r, rpc_net_connect_unix(socket_path));
    make_request(&m, RPC_STATS, &nothing.base, 0, false);
    raw_send(&r, m.bytes.data, m.bytes.len);
    run_until(was_asked, &v);
    rpc_reply_bytes(v.server, v.last_call, big, RPC_BODY_MAX + 1, false);
    raw_refused(&r, -ERR_TOO_BIG, NULL);
    raw_close(&r);
    made_done(&m);
    free(big);
    rpc_server_free(v.server);
}

static void take_body(struct served *v, const struct rpc_request *r)
{
    static struct arena kept;

    if (v->session_events.ctx) {
        arena_done(&kept);
        return;
    }
    rpc_request_take(r, &kept);
    v->session_events.ctx = (void *)r->body;
    assert_non_null(arena_alloc(&kept, 100)); /* it still works as an arena */
    rpc_reply_bytes(v->server, r->call, NULL, 0, false);
}

static void handler_may_keep_the_body(void **state)
{
    Pb__ConfigRequest ask = PB__CONFIG_REQUEST__INIT;
    struct served v = {.answer = take_body};
    struct raw r;
    struct made m;
    struct rpc_header h;

    serve(&v, NULL);
    ask.key = "kept beyond the handler";
    raw_take(&r, rpc_net_connect_unix(socket_path));
    make_request(&m, RPC_CONFIG_SHOW, &ask.base, 0, false);
    raw_send(&r, m.bytes.data, m.bytes.len);
    raw_frame(&r, &h, NULL);
    assert_string_equal(((Pb__ConfigRequest *)v.session_events.ctx)->key,
                        "kept beyond the handler");
    take_body(&v, NULL);
    raw_close(&r);
    made_done(&m);
    rpc_server_free(v.server);
}

static void tokens_are_minted_for_valid_requests(void **state)
{
    static const struct {
        size_t hash_len, count, name_len;
        int code;
    } rows[] = {
        {32, 0, 1, -ERR_LIMIT},
        {31, 1, 1, -ERR_PROTOCOL},
        {33, 1, 1, -ERR_PROTOCOL},
        {32, 1, 0, -ERR_RANGE},
        {32, 1, AUTH_NAME_MAX + 1, -ERR_RANGE},
        {32, 1, AUTH_NAME_MAX, 0},
        {32, 3, 5, 0},
    };
    struct served v = {0};
    struct raw r;

    serve(&v, NULL);
    raw_take(&r, rpc_net_connect_unix(socket_path));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        Pb__MintRequest ask = PB__MINT_REQUEST__INIT;
        uint8_t hash[64] = {1, 2, 3};
        char name[AUTH_NAME_MAX + 2] = {0}, *names[3] = {name, name, name};
        struct made m;
        memset(name, 'n', rows[i].name_len);
        ask.body_hash = (ProtobufCBinaryData){rows[i].hash_len, hash};
        ask.audience = names;
        ask.n_audience = rows[i].count;
        make_request(&m, RPC_MINT, &ask.base, 0, false);
        raw_send(&r, m.bytes.data, m.bytes.len);
        if (rows[i].code) {
            raw_refused(&r, rows[i].code, NULL);
        } else {
            _cleanup_str_ struct str body = STR_INIT;
            struct rpc_header h;
            struct arena arena;
            raw_frame(&r, &h, &body);
            arena_init(&arena, 0);
            Pb__MintReply *reply =
                arena_unpack(&arena, &pb__mint_reply__descriptor, body.data, body.len);
            assert_non_null(reply);
            assert_int_equal(reply->n_token, rows[i].count);
            for (size_t t = 0; t < reply->n_token; t++) {
                struct auth_identity who;
                assert_int_equal(auth_token_check(&key, reply->token[t].data, reply->token[t].len,
                                                  name, hash, loop_wall_ms(), 0, NULL, &who, NULL),
                                 0);
                assert_int_equal(who.uid, geteuid());
            }
            arena_done(&arena);
        }
        made_done(&m);
    }
    raw_close(&r);
    rpc_server_free(v.server);
}

static void invalid_listen_addresses_are_refused(void **state)
{
    struct served v = {0}, w = {0};
    char path[300], loose[160];
    struct err err = {0};
    struct stat st;
    int port, fd;

    serve(&v, NULL);
    /* Taken, unresolvable, too long, relative, where others may write. */
    assert_int_equal(rpc_server_listen_tcp(v.server, "127.0.0.1", (uint16_t)v.port, &err),
                     -EADDRINUSE);
    snprintf(path, sizeof(path), "127.0.0.1:%d", v.port);
    assert_non_null(strstr(err.text, path));
    assert_true(rpc_server_listen_tcp(v.server, "no such host", 0, &err) < 0);
    memset(path, 'x', sizeof(path));
    snprintf(path, sizeof(path), "%s/%0200d", dir, 0);
    assert_int_equal(rpc_server_listen_unix(v.server, path, 0666, &err), -ENAMETOOLONG);
    assert_int_equal(rpc_server_listen_unix(v.server, "relative", 0666, &err), -ERR_CONFIG);
    snprintf(loose, sizeof(loose), "%s/loose", dir);
    assert_int_equal(mkdir(loose, 0700), 0);
    assert_int_equal(chmod(loose, 0777), 0);
    snprintf(path, sizeof(path), "%s/s", loose);
    assert_int_equal(rpc_server_listen_unix(v.server, path, 0666, &err), -ERR_CONFIG);
    assert_non_null(strstr(err.text, "chmod"));
    assert_int_equal(rmdir(loose), 0);

    /* A missing directory is created; a leftover socket is replaced. */
    snprintf(path, sizeof(path), "%s/a/s", dir);
    assert_int_equal(rpc_server_listen_unix(v.server, path, 0600, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    snprintf(loose, sizeof(loose), "%s/a/t~", dir); /* killed before it was in its place */
    assert_int_equal(close(open(loose, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    loose[strlen(loose) - 1] = '\0';
    assert_int_equal(rpc_server_listen_unix(v.server, loose, 0600, &err), 0);
    serve(&w, NULL); /* on v's socket path */
    fd = rpc_net_connect_unix(socket_path);
    assert_true(fd >= 0);
    close(fd);
    port = rpc_server_listen_tcp(v.server, NULL, 0, &err);
    assert_true(port > 0);
    rpc_server_unlisten(v.server);
    assert_int_equal(rpc_net_connect_unix(path), -ENOENT);
    snprintf(path, sizeof(path), "%s/a", dir);
    assert_int_equal(rmdir(path), 0);
    rpc_server_free(w.server);
    rpc_server_free(v.server);
}

static void listens_on_both_families(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "::1"};
    struct served v = {0};
    int port, reached = 0;

    serve(&v, NULL);
    port = rpc_server_listen_tcp(v.server, NULL, 0, NULL);
    for (int i = 0; i < 2; i++) {
        struct rpc_addr a;
        bool pending;
        int fd;
        assert_int_equal(rpc_net_resolve(hosts[i], (uint16_t)port, true, &a, NULL), 1);
        fd = rpc_net_connect(&a, 0, &pending);
        if (fd == -EADDRNOTAVAIL || fd == -EAFNOSUPPORT || fd == -ENETUNREACH)
            continue; /* this host has no such family */
        assert_true(fd >= 0);
        settle();
        assert_int_equal(rpc_net_connected(fd), 0);
        reached++;
        close(fd);
    }
    assert_true(reached > 0);
    rpc_server_free(v.server);
}

static void unlisten_keeps_calls(void **state)
{
    struct served v = {.hold = true};
    struct raw r;
    struct made m;
    struct rpc_header h;

    serve(&v, NULL);
    raw_tcp(&r, v.port);
    make_request(&m, RPC_STATS, &nothing.base, 0, true);
    raw_send(&r, m.bytes.data, m.bytes.len);
    run_until(was_asked, &v);
    rpc_server_unlisten(v.server);
    rpc_reply_bytes(v.server, v.last_call, NULL, 0, false);
    raw_frame(&r, &h, NULL);
    assert_int_equal(h.flags, RPC_FLAG_REPLY);
    raw_close(&r);
    made_done(&m);
    rpc_server_free(v.server);
}

/* Many requests in one write: each is answered, in order. */
static void pipelined_requests_are_answered_in_order(void **state)
{
    struct served v = {0};
    _cleanup_str_ struct str all = STR_INIT;
    struct raw r;

    serve(&v, NULL);
    for (unsigned i = 0; i < 1000; i++) {
        struct made m;
        make_request(&m, RPC_PING, &nothing.base, 0, false);
        m.header.id = i;
        seal_request(&m, 0);
        str_append(&all, m.bytes.data, m.bytes.len);
        made_done(&m);
    }
    raw_take(&r, rpc_net_connect_unix(socket_path));
    raw_send(&r, all.data, all.len);
    for (unsigned i = 0; i < 1000; i++) {
        struct rpc_header h;
        raw_frame(&r, &h, NULL);
        assert_int_equal(h.id, i);
    }
    raw_close(&r);
    rpc_server_free(v.server);
}

static void unencrypted_request_is_refused_if_configured(void **state)
{
    struct rpc_server_options bend = {.refuse_plain = true};
    struct served v = {0};
    struct made m;

    serve(&v, &bend);
    make_request(&m, RPC_PING, &nothing.base, 0, true);
    assert_refused(&v, m.bytes.data, m.bytes.len, -ERR_ACCESS, false);
    made_done(&m);
    make_request(&m, RPC_PING, &nothing.base, 0, false);
    assert_refused(&v, m.bytes.data, m.bytes.len, -ERR_ACCESS, true);
    made_done(&m);
    rpc_server_free(v.server);
}

static void server_is_freed_with_open_connections(void **state)
{
    struct served v = {.hold = true};
    struct raw r[3];
    struct made m;

    serve(&v, NULL);
    raw_tcp(&r[0], v.port);
    raw_tcp(&r[1], v.port);
    raw_take(&r[2], rpc_net_connect_unix(socket_path));
    make_request(&m, RPC_STATS, &nothing.base, 0, true);
    raw_send(&r[0], m.bytes.data, m.bytes.len);
    raw_send(&r[1], m.bytes.data, 30);
    run_until(was_asked, &v);
    rpc_server_free(v.server);
    for (int i = 0; i < 3; i++) {
        run_until(raw_ended, &r[i]);
        raw_close(&r[i]);
    }
    assert_int_equal(v.gone, 0);
    made_done(&m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(altered_headers_are_refused),
        TEST(altered_tokens_are_refused),
        TEST(tokens_for_another_audience_are_refused),
        TEST(replayed_request_is_refused),
        TEST(token_with_another_body_is_refused),
        TEST(malformed_bodies_are_refused),
        TEST(local_frame_with_a_token_is_refused),
        TEST(body_size_is_limited),
        TEST(unauthenticated_body_is_not_read),
        TEST(request_in_pieces_is_assembled),
        TEST(long_frames_are_assembled_in_place),
        TEST(slow_sender_is_disconnected),
        TEST(idle_callers_are_disconnected),
        TEST(rights_of_the_user_are_checked),
        TEST(local_caller_has_the_uid_of_its_process),
        TEST(open_calls_are_limited),
        TEST(held_calls_are_answered_out_of_order),
        TEST(reply_in_parts_is_sent),
        TEST(slow_reader_is_disconnected),
        TEST(too_large_answer_becomes_an_error),
        TEST(handler_may_keep_the_body),
        TEST(tokens_are_minted_for_valid_requests),
        TEST(invalid_listen_addresses_are_refused),
        TEST(listens_on_both_families),
        TEST(unlisten_keeps_calls),
        TEST(pipelined_requests_are_answered_in_order),
        TEST(unencrypted_request_is_refused_if_configured),
        TEST(server_is_freed_with_open_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
