/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Encrypted connections: the bytes on the wire, the refused callers and the reasons, and records
   in arbitrary pieces. */
#include "rpc/rpc_test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "proto/job.pb-c.h"
#include "rpc/channel.h"
#include "rpc/keyed.h"
#include "rpc/rpc_test_result.h"
#include "rpc/wire.h"

#define SECRET "what only the server is to read"

static const Pb__Empty nothing = PB__EMPTY__INIT;

/* Sends a request that contains SECRET. */
static void send_secret_request(struct rpc_test_result *r, int port, const struct auth_key *with)
{
    Pb__JobNotify notify = PB__JOB_NOTIFY__INIT;
    Pb__StepId step = PB__STEP_ID__INIT;
    struct rpc_keyed_request ask = {
        .key = with,
        .addr = "127.0.0.1",
        .port = (uint16_t)port,
        .audience = AUDIENCE,
        .rpc = RPC_JOB_NOTIFY,
        .request = &notify.base,
        .timeout_ms = 10000,
    };

    notify.target = &step;
    notify.text = (char *)SECRET;
    *r = (struct rpc_test_result){0};
    rpc_keyed_call(loop, &ask, rpc_test_note_result, r);
}

static void call_encrypted(struct rpc_test_result *r, int port)
{
    send_secret_request(r, port, &key);
    run_until(is_true, &r->done);
    settle();
}

/* A plain listener that collects what callers send. */
static int listen_bare(int *port)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(sin);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
    *port = ntohs(sin.sin_port);
    return fd;
}

/* Accepts a call and reads everything that the caller sends before it needs a reply. */
static void take_call(struct raw *raw, int listener, struct rpc_test_result *r, int port)
{
    send_secret_request(r, port, &key);
    settle();
    raw_take(raw, accept(listener, NULL, NULL));
    raw->want = RPC_CHANNEL_HELLO_SIZE;
    run_until(raw_has, raw);
    settle();
}

static void passive_listener_sees_a_hello_only(void **state)
{
#define ANSWER(text)                                                                               \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    static const struct {
        const char *bytes;
        size_t len;
    } answers[] = {
        ANSWER("HTTP/1.1 400 Bad Request\r\n\r\n and so on"),
        ANSWER("SLUI\x01\0\0\0\x21\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0"
               "a second message that is made without the key..."),
        ANSWER("SLUI\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x01\0\0\0\0\0\0\0"
               "\x0a\x02me"),
    };
#undef ANSWER
    int port, listener = listen_bare(&port);

    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        struct rpc_test_result r;
        struct raw raw;

        take_call(&raw, listener, &r, port);
        assert_int_equal(raw.in.len, RPC_CHANNEL_HELLO_SIZE);
        raw_send(&raw, answers[i].bytes, answers[i].len);
        run_until(is_true, &r.done);
        run_until(raw_ended, &raw);
        assert_int_equal(raw.in.len, RPC_CHANNEL_HELLO_SIZE);
        assert_int_equal(r.code, -ERR_UNPROVEN);
        assert_non_null(strstr(r.err.text, "slurm.key differs"));
        raw_close(&raw);
    }
    close(listener);
}

/* A listener cannot reuse a server's reply to another caller. */
static void recorded_answer_is_refused(void **state)
{
    struct auth_noise_key k;
    const struct rpc_channel_keys keys = {.cluster = &key};
    struct rpc_channel_accepted theirs;
    _cleanup_str_ struct str hello = STR_INIT;
    struct rpc_channel *ours;
    int port, listener = listen_bare(&port);
    struct rpc_test_result r;
    struct raw raw;

    auth_noise_key_make(&key, &k);
    ours = rpc_channel_call(&k, NULL, &hello);
    assert_int_equal(rpc_channel_accept(&keys, (uint8_t *)hello.data, hello.len, &theirs, NULL),
                     RPC_CHANNEL_OPEN);
    take_call(&raw, listener, &r, port);
    raw_send(&raw, theirs.reply, sizeof(theirs.reply));
    run_until(is_true, &r.done);
    assert_int_equal(r.code, -ERR_UNPROVEN);
    raw_close(&raw);
    close(listener);
    rpc_channel_free(ours);
    rpc_channel_free(theirs.channel);
}

static void refusal_text_reaches_the_caller(void **state)
{
    static const struct {
        int code, expected;
    } cases[] = {
        {ERR_BUSY, -ERR_BUSY},
        {ERR_ACCESS, -ERR_ACCESS},
        {ERR_STANDBY, -ERR_UNPROVEN}, /* would redirect the caller */
        {ERR_BACKOFF, -ERR_UNPROVEN},
    };
    int port, listener = listen_bare(&port);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_str_ struct str body = STR_INIT, frame = STR_INIT;
        struct rpc_header h = {.version = RPC_VERSION, .flags = RPC_FLAG_REPLY | RPC_FLAG_ERROR};
        struct rpc_test_result r;
        struct raw raw;

        rpc_error_pack(cases[i].code, "not today", &body);
        h.body_len = (uint32_t)body.len;
        rpc_frame_append(&frame, &h, NULL, body.data);
        take_call(&raw, listener, &r, port);
        raw_send(&raw, frame.data, frame.len);
        run_until(is_true, &r.done);
        assert_int_equal(r.code, cases[i].expected);
        assert_int_equal(strstr(r.err.text, "refused: not today") != NULL, r.code != -ERR_UNPROVEN);
        raw_close(&raw);
    }
    close(listener);
}

static void caller_with_another_key_is_refused(void **state)
{
    struct served v = {0};
    struct auth_key other;
    struct rpc_test_result r;

    serve(&v, NULL);
    auth_key_from_bytes("the key of another cluster......", 32, &other);
    send_secret_request(&r, v.port, &other);
    run_until(is_true, &r.done);
    assert_int_equal(r.code, -ERR_AUTH);
    assert_non_null(strstr(r.err.text, "does not know the key"));
    assert_int_equal(v.requests, 0);
    rpc_server_free(v.server);
}

/* Both sides encrypt, or neither does; a server without encryption still accepts a caller that
 * encrypts. A caller never turns encryption off by itself. */
static void encryption_modes_of_both_sides_are_combined(void **state)
{
    struct served v = {0};
    struct rpc_test_result r;
    struct raw raw;
    struct err err;
    struct made m;

    serve(&v, NULL);
    call_encrypted(&r, v.port);
    assert_int_equal(r.code, 0);
    make_request(&m, RPC_PING, &nothing.base, 1000, true);
    raw_tcp(&raw, v.port);
    rpc_set_encryption(true);
    raw_send(&raw, m.bytes.data, m.bytes.len);
    raw_refused(&raw, -ERR_ACCESS, &err);
    assert_non_null(strstr(err.text, "connections must be encrypted here"));
    assert_int_equal(v.requests, 1);
    raw_close(&raw);
    raw_tcp(&raw, v.port); /* no longer accepted */
    raw_send(&raw, m.bytes.data, m.bytes.len);
    raw.want = RPC_HEADER_SIZE;
    run_until(raw_has, &raw);
    assert_int_equal(v.requests, 2);
    raw_close(&raw);
    call_encrypted(&r, v.port); /* unencrypted */
    assert_int_equal(r.code, 0);
    made_done(&m);
    rpc_server_free(v.server);
}

/* Every length around the size of a record, and every split of the stream. */
static void records_are_accepted_in_any_pieces(void **state)
{
    static const size_t lens[] = {0,     1,     2,     100,   16366, 16383,
                                  16384, 16385, 32767, 32768, 32769, 100000};
    _cleanup_str_ struct str hello = STR_INIT, got = STR_INIT, in = STR_INIT;
    uint8_t *text = malloc(100000), *sealed = malloc(110000);
    const struct rpc_channel_keys keys = {.cluster = &key};
    struct rpc_channel_accepted accepted;
    struct rpc_channel *a, *b;
    struct auth_noise_key k;
    struct err err;

    auth_random(text, 100000);
    auth_noise_key_make(&key, &k);
    a = rpc_channel_call(&k, NULL, &hello);
    for (size_t n = 0; n < hello.len; n++)
        assert_int_equal(rpc_channel_accept(&keys, (uint8_t *)hello.data, n, &accepted, &err),
                         RPC_CHANNEL_MORE);
    assert_int_equal(rpc_channel_accept(&keys, (uint8_t *)hello.data, hello.len, &accepted, &err),
                     RPC_CHANNEL_OPEN);
    assert_int_equal(accepted.taken, hello.len);
    assert_null(accepted.jwt);
    b = accepted.channel;
    for (size_t n = 0; n < sizeof(accepted.reply); n++)
        assert_int_equal(rpc_channel_answered(a, accepted.reply, n, &err), 0);
    assert_int_equal(rpc_channel_answered(a, accepted.reply, sizeof(accepted.reply), &err),
                     sizeof(accepted.reply));
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        size_t size = rpc_channel_sealed_size(lens[i]), at = 0, piece = 1;

        rpc_channel_seal(a, text, lens[i], sealed);
        if (lens[i] > 31 && lens[i] < 20000)
            assert_null(memmem(sealed, size, text, 16));
        for (; at < size; at += piece, piece = piece * 7 % 16411) {
            size_t plain;
            int taken;

            if (piece > size - at)
                piece = size - at;
            str_append(&in, sealed + at, piece);
            taken = rpc_channel_unseal(b, (uint8_t *)in.data, in.len, &plain, &err);
            assert_true(taken >= 0);
            str_append(&got, in.data, plain);
            str_consume(&in, (size_t)taken);
        }
        assert_int_equal(in.len, 0);
        assert_int_equal(got.len, lens[i]);
        if (got.len)
            assert_memory_equal(got.data, text, got.len);
        str_clear(&got);
    }
    rpc_channel_seal(a, text, 40, sealed);
    sealed[30] ^= 1;
    size_t plain;
    assert_int_equal(rpc_channel_unseal(b, sealed, 58, &plain, &err), -ERR_AUTH);
    rpc_channel_free(a);
    rpc_channel_free(b);
    free(text);
    free(sealed);
}

/* An incomplete hello is closed after the same time as an incomplete frame. */
static void slow_hello_is_disconnected(void **state)
{
    static const char half[] = "SLUI\x01\0\0\0\x20\0\0\0\x50\0\0";
    struct served v = {0};
    struct raw raw;

    serve(&v, NULL);
    raw_tcp(&raw, v.port);
    rpc_set_encryption(true);
    raw_send(&raw, half, sizeof(half));
    settle();
    assert_false(raw.eof);
    clock_ahead_ms += RPC_READ_TIMEOUT_MS + 1000;
    run_until(raw_ended, &raw);
    assert_int_equal(v.requests, 0);
    raw_close(&raw);
    rpc_server_free(v.server);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(passive_listener_sees_a_hello_only),
        TEST(recorded_answer_is_refused),
        TEST(refusal_text_reaches_the_caller),
        TEST(caller_with_another_key_is_refused),
        TEST(encryption_modes_of_both_sides_are_combined),
        TEST(records_are_accepted_in_any_pieces),
        TEST(slow_hello_is_disconnected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
