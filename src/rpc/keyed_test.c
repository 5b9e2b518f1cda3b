/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls between daemons, and the errors of a server that is replaced by another. */
#include "rpc/rpc_test_server.h"

#include "rpc/keyed.h"
#include "rpc/reply.h"
#include "rpc/rpc_test_result.h"

static const Pb__Empty nothing = PB__EMPTY__INIT;

static const struct auth_key *with = &key;

static struct rpc_keyed *begin_keyed_call(struct rpc_test_result *r, int port, enum rpc_number rpc,
                                          int64_t timeout_ms)
{
    struct rpc_keyed_request ask = {
        .key = with,
        .addr = "127.0.0.1",
        .port = (uint16_t)port,
        .audience = AUDIENCE,
        .rpc = rpc,
        .request = &nothing.base,
        .timeout_ms = timeout_ms,
    };

    *r = (struct rpc_test_result){0};
    return rpc_keyed_call(loop, &ask, rpc_test_note_result, r);
}

static void call_with_key(struct rpc_test_result *r, int port, enum rpc_number rpc,
                          int64_t timeout_ms)
{
    begin_keyed_call(r, port, rpc, timeout_ms);
    run_until(is_true, &r->done);
    settle();
    assert_int_equal(r->count, 1);
}

static void answer_error(struct served *v, const struct rpc_request *r)
{
    rpc_reply_error(v->server, r->call, -ERR_STANDBY, "not I");
}

static void keyed_calls_succeed(void **state)
{
    struct served v = {0};
    struct rpc_test_result r;
    char where[32];

    serve(&v, NULL);
    snprintf(where, sizeof(where), "127.0.0.1:%d: ", v.port);
    call_with_key(&r, v.port, RPC_PING, 10000);
    assert_int_equal(r.code, 0);
    assert_int_equal(v.who.uid, geteuid());
    assert_int_equal(v.requests, 1);

    v.answer = answer_error;
    call_with_key(&r, v.port, RPC_PING, 10000);
    assert_int_equal(r.code, -ERR_STANDBY);
    assert_memory_equal(r.err.text, where, strlen(where));
    assert_non_null(strstr(r.err.text, "not I"));

    v.answer = NULL;
    v.hold = true;
    call_with_key(&r, v.port, RPC_PING, 1);
    assert_int_equal(r.code, -ERR_TIMEOUT);
    assert_memory_equal(r.err.text, where, strlen(where));

    rpc_keyed_drop(begin_keyed_call(&r, v.port, RPC_PING, 10000));
    rpc_server_free(v.server);
    call_with_key(&r, v.port, RPC_PING, 10000);
    assert_int_equal(r.code, -ERR_CONNECT);
    assert_memory_equal(r.err.text, where, strlen(where));
    rpc_keyed_drop(NULL);
}

static void wrong_key_is_refused(void **state)
{
    struct auth_key other;
    struct served v = {0};
    struct rpc_test_result r;

    serve(&v, NULL);
    auth_key_from_bytes("the key of another cluster......", 32, &other);
    with = &other;
    call_with_key(&r, v.port, RPC_PING, 10000);
    with = &key;
    assert_int_equal(r.code, -ERR_AUTH);
    assert_int_equal(v.requests, 0);
    rpc_server_free(v.server);
}

/* Knowing the key does not make a caller an administrator: the user in the token counts. */
static void rights_follow_the_user_of_the_token(void **state)
{
    struct served v = {0};
    struct rpc_test_result r;

    serve(&v, NULL);
    call_with_key(&r, v.port, RPC_CTLD_YIELD, 10000);
    if (geteuid() == 0) {
        assert_int_equal(r.code, -ERR_PROTOCOL); /* an empty one is malformed */
    } else {
        assert_int_equal(r.code, -ERR_ACCESS);
    }
    assert_int_equal(v.requests, 0);
    rpc_server_free(v.server);
}

static bool holds_two(void *ctx)
{
    return ((struct served *)ctx)->requests == 2;
}

static void open_calls_fail_with_the_connection(void **state)
{
    struct served v = {.hold = true};
    struct rpc_test_result r[2];

    serve(&v, NULL);
    begin_keyed_call(&r[0], v.port, RPC_PING, 10000);
    begin_keyed_call(&r[1], v.port, RPC_STATS, 10000);
    run_until(holds_two, &v);
    rpc_server_fail_calls(v.server, -ERR_STANDBY, "another leads");
    for (int i = 0; i < 2; i++) {
        run_until(is_true, &r[i].done);
        assert_int_equal(r[i].code, -ERR_STANDBY);
    }
    v.hold = false;
    call_with_key(&r[0], v.port, RPC_PING, 10000);
    assert_int_equal(r[0].code, 0);
    rpc_server_free(v.server);
}

static void token_minted_before_distrust_is_refused(void **state)
{
    struct rpc_header h = {.version = RPC_VERSION, .rpc = RPC_PING, .token_len = AUTH_TOKEN_SIZE};
    struct auth_identity who = {.host = "test"};
    uint8_t token[AUTH_TOKEN_SIZE], hash[AUTH_HASH_SIZE];
    _cleanup_str_ struct str bytes = STR_INIT, body = STR_INIT;
    struct served v = {0};
    struct rpc_test_result r;
    struct raw raw;
    struct err why;

    serve(&v, NULL);
    rpc_frame_hash(&h, NULL, hash);
    auth_token_mint(&key, &who, AUDIENCE, hash, loop_wall_ms(), 60000, token);
    rpc_frame_append(&bytes, &h, token, NULL);
    for (int64_t from = loop_wall_ms(); loop_wall_ms() <= from;)
        ; /* the token is older than what follows */
    rpc_server_distrust_tokens(v.server);
    raw_tcp(&raw, v.port);
    raw_send(&raw, bytes.data, bytes.len);
    raw_frame(&raw, &h, &body);
    assert_int_equal(rpc_error_unpack(body.data, body.len, &why), -ERR_REPLAY);
    raw_close(&raw);
    assert_int_equal(v.requests, 0);
    call_with_key(&r, v.port, RPC_PING, 10000);
    assert_int_equal(r.code, 0);
    rpc_server_free(v.server);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keyed_calls_succeed),
        TEST(wrong_key_is_refused),
        TEST(rights_follow_the_user_of_the_token),
        TEST(open_calls_fail_with_the_connection),
        TEST(token_minted_before_distrust_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
