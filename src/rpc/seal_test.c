/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/rpc.h"
#include "rpc/seal.h"

static struct auth_key key, other_key;
static struct rpc_transcript transcript;

static int setup(void **state)
{
    auth_key_from_bytes("key", 3, &key);
    auth_key_from_bytes("kez", 3, &other_key);
    rpc_hello_make("node1", &transcript.connecting);
    rpc_hello_make("slurmctld", &transcript.accepting);
    return 0;
}

static void invalid_peer_names_are_refused(void **state)
{
    static const char *const bad[] = {"", "a b", "a\n", "\x1b[2J", "\xc3\xa9"};
    struct rpc_hello h;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        rpc_hello_make(bad[i], &h);
        assert_int_equal(rpc_hello_check(&h, NULL), -ERR_PROTOCOL);
    }
    memset(h.name, 'a', sizeof(h.name)); /* no NUL */
    assert_int_equal(rpc_hello_check(&h, NULL), -ERR_PROTOCOL);
    rpc_hello_make("node1", &h);
    assert_int_equal(rpc_hello_check(&h, NULL), 0);
    h.name[10] = 'x'; /* behind the NUL */
    assert_int_equal(rpc_hello_check(&h, NULL), -ERR_PROTOCOL);
}

static void proof_depends_on_transcript_and_side(void **state)
{
    uint8_t want[AUTH_MAC_SIZE], got[AUTH_MAC_SIZE];
    struct rpc_transcript t = transcript;
    uint8_t *bytes = (uint8_t *)&t;

    rpc_seal_proof(&key, &transcript, true, want);
    rpc_seal_proof(&key, &transcript, false, got);
    assert_memory_not_equal(got, want, sizeof(got)); /* one side's cannot stand for the other's */
    rpc_seal_proof(&other_key, &transcript, true, got);
    assert_memory_not_equal(got, want, sizeof(got));
    for (size_t bit = 0; bit < sizeof(t) * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        rpc_seal_proof(&key, &t, true, got);
        assert_memory_not_equal(got, want, sizeof(got));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static struct rpc_header make_header(const char *body)
{
    return (struct rpc_header){.version = RPC_VERSION,
                               .rpc = RPC_NODE_REPORT,
                               .flags = RPC_FLAG_SESSION,
                               .token_len = AUTH_MAC_SIZE,
                               .body_len = (uint32_t)strlen(body)};
}

static void check_every_bit(unsigned more_flags, bool is_protected)
{
    struct rpc_seal a, b;
    char body[] = "some body";
    struct rpc_header h = make_header(body), bent;
    uint8_t mac[AUTH_MAC_SIZE];

    h.flags |= (uint16_t)more_flags;
    rpc_seal_init(&a, &key, &transcript, true);
    rpc_seal_init(&b, &key, &transcript, false);
    a.is_protected = is_protected;
    rpc_seal_sign(&a, &h, body, mac);
    if (is_protected) /* one side alone */
        assert_int_equal(rpc_seal_check(&b, &h, body, mac, NULL), -ERR_AUTH);
    b.is_protected = is_protected;
    for (size_t bit = 0; bit < strlen("some body") * 8 && !is_protected; bit++) {
        body[bit / 8] ^= (char)(1u << bit % 8);
        assert_int_equal(rpc_seal_check(&b, &h, body, mac, NULL), -ERR_AUTH);
        body[bit / 8] ^= (char)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < sizeof(mac) * 8; bit++) {
        mac[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(rpc_seal_check(&b, &h, body, mac, NULL), -ERR_AUTH);
        mac[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (int bit = 0; bit < 16; bit++) {
        for (int field = 0; field < 3; field++) {
            bent = h;
            if (field == 0)
                bent.rpc ^= (uint16_t)(1u << bit);
            else if (field == 1)
                bent.flags ^= (uint16_t)(1u << bit);
            else
                bent.id ^= 1ull << bit;
            assert_int_equal(rpc_seal_check(&b, &bent, body, mac, NULL), -ERR_AUTH);
        }
    }
    bent = h;
    bent.body_len--;
    assert_int_equal(rpc_seal_check(&b, &bent, body, mac, NULL), -ERR_AUTH);
    assert_int_equal(rpc_seal_check(&b, &h, body, mac, NULL), 0);
    assert_int_equal(rpc_seal_check(&b, &h, body, mac, NULL), -ERR_AUTH); /* once */
    rpc_seal_sign(&a, &h, body, mac);
    assert_int_equal(rpc_seal_check(&b, &h, body, mac, NULL), 0);
    rpc_seal_done(&a);
    rpc_seal_done(&b);
}

static void message_with_any_flipped_bit_is_refused(void **state)
{
    check_every_bit(0, false);
    check_every_bit(RPC_FLAG_BULK, false);
    check_every_bit(RPC_FLAG_BULK, true); /* but for the body, which the channel authenticates */
}

static int parse_refusal(int code, bool sealed, const struct auth_key *with)
{
    _cleanup_str_ struct str body = STR_INIT;
    struct rpc_header h = {.version = RPC_VERSION,
                           .rpc = RPC_SUBMIT,
                           .flags = RPC_FLAG_REPLY | RPC_FLAG_ERROR,
                           .token_len = sealed ? AUTH_MAC_SIZE : 0};
    struct rpc_seal server, caller;
    uint8_t mac[AUTH_MAC_SIZE] = {0};

    rpc_error_pack(code, "no", &body);
    h.body_len = (uint32_t)body.len;
    rpc_seal_answers(&server, with, false);
    rpc_seal_answers(&caller, &key, true);
    rpc_seal_sign(&server, &h, body.data, mac);
    return rpc_seal_check_answer(&caller, &h, body.data, mac, NULL);
}

/* An unauthenticated refusal is only accepted if it is of a kind that says so. */
static void unauthenticated_refusal_is_limited_to_some_codes(void **state)
{
    static const struct {
        int code, unsealed;
    } rows[] = {{ERR_AUTH, 0},
                {ERR_SKEW, 0},
                {ERR_REPLAY, 0},
                {ERR_PROTOCOL, 0},
                {ERR_BUSY, 0},
                {ERR_NO_PARTITION, -ERR_UNPROVEN},
                {ERR_STANDBY, -ERR_UNPROVEN},
                {ERR_BACKOFF, -ERR_UNPROVEN},
                {ERR_NO_CHANGE, -ERR_UNPROVEN},
                {ERR_SHUTDOWN, -ERR_UNPROVEN}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(parse_refusal(rows[i].code, false, &key), rows[i].unsealed);
        assert_int_equal(parse_refusal(rows[i].code, true, &key), 0);
        assert_int_equal(parse_refusal(rows[i].code, true, &other_key), -ERR_UNPROVEN);
    }
}

static void answers_are_sealed_and_checked(void **state)
{
    struct rpc_seal server, caller;
    char body[] = "part";
    struct rpc_header more = {.version = RPC_VERSION,
                              .rpc = RPC_JOB_LIST,
                              .flags = RPC_FLAG_REPLY | RPC_FLAG_MORE,
                              .token_len = AUTH_MAC_SIZE,
                              .body_len = 4};
    struct rpc_header last = more, bare = more;
    uint8_t first[AUTH_MAC_SIZE], second[AUTH_MAC_SIZE];

    last.flags = RPC_FLAG_REPLY;
    bare.token_len = 0;
    rpc_seal_answers(&server, &key, false);
    rpc_seal_answers(&caller, &key, true);
    rpc_seal_sign(&server, &more, body, first);
    rpc_seal_sign(&server, &last, body, second);
    assert_int_equal(rpc_seal_check_answer(&caller, &bare, body, NULL, NULL), -ERR_UNPROVEN);
    assert_int_equal(rpc_seal_check_answer(&caller, &last, body, second, NULL), -ERR_UNPROVEN);
    assert_int_equal(rpc_seal_check_answer(&caller, &last, body, first, NULL), -ERR_UNPROVEN);
    body[0] ^= 1;
    assert_int_equal(rpc_seal_check_answer(&caller, &more, body, first, NULL), -ERR_UNPROVEN);
    body[0] ^= 1;
    assert_int_equal(rpc_seal_check_answer(&caller, &more, body, first, NULL), 0);
    assert_int_equal(rpc_seal_check_answer(&caller, &more, body, first, NULL), -ERR_UNPROVEN);
    assert_int_equal(rpc_seal_check_answer(&caller, &last, body, second, NULL), 0);
    assert_int_equal(rpc_seal_check_answer(NULL, &bare, body, NULL, NULL),
                     0); /* the kernel's word */
}

/* A caller's own frame is not accepted as a reply, although both directions use one key. */
static void reflected_request_is_not_an_answer(void **state)
{
    struct rpc_seal caller;
    struct rpc_header h = {.version = RPC_VERSION,
                           .rpc = RPC_JOB_LIST,
                           .flags = RPC_FLAG_MORE,
                           .token_len = AUTH_MAC_SIZE,
                           .body_len = 4};
    uint8_t mac[AUTH_MAC_SIZE];

    rpc_seal_answers(&caller, &key, true);
    rpc_seal_sign(&caller, &h, "part", mac);
    assert_int_equal(rpc_seal_check_answer(&caller, &h, "part", mac, NULL), -ERR_UNPROVEN);
}

static void messages_out_of_order_are_refused(void **state)
{
    struct rpc_seal a, b;
    const char *body[] = {"one", "two", "six"};
    struct rpc_header h = make_header("one");
    uint8_t mac[3][AUTH_MAC_SIZE];

    rpc_seal_init(&a, &key, &transcript, true);
    rpc_seal_init(&b, &key, &transcript, false);
    for (int i = 0; i < 3; i++)
        rpc_seal_sign(&a, &h, body[i], mac[i]);
    assert_int_equal(rpc_seal_check(&b, &h, body[1], mac[1], NULL), -ERR_AUTH); /* early */
    assert_int_equal(rpc_seal_check(&b, &h, body[0], mac[0], NULL), 0);
    assert_int_equal(rpc_seal_check(&b, &h, body[0], mac[0], NULL), -ERR_AUTH); /* again */
    assert_int_equal(rpc_seal_check(&b, &h, body[2], mac[2], NULL), -ERR_AUTH); /* one lost */
    assert_int_equal(rpc_seal_check(&b, &h, body[1], mac[1], NULL), 0);
    assert_int_equal(rpc_seal_check(&a, &h, body[0], mac[0], NULL), -ERR_AUTH); /* sent back */
}

static void messages_of_another_session_are_refused(void **state)
{
    struct rpc_seal a, b;
    struct rpc_transcript next = transcript;
    struct rpc_header h = make_header("x");
    uint8_t mac[AUTH_MAC_SIZE];

    rpc_hello_make("slurmctld", &next.accepting);
    rpc_seal_init(&a, &key, &transcript, true);
    rpc_seal_sign(&a, &h, "x", mac);
    rpc_seal_init(&b, &key, &next, false);
    assert_int_equal(rpc_seal_check(&b, &h, "x", mac, NULL), -ERR_AUTH);
    rpc_seal_init(&b, &other_key, &transcript, false);
    assert_int_equal(rpc_seal_check(&b, &h, "x", mac, NULL), -ERR_AUTH);
    rpc_seal_init(&b, &key, &transcript, false);
    assert_int_equal(rpc_seal_check(&b, &h, "x", mac, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_peer_names_are_refused),
        cmocka_unit_test(proof_depends_on_transcript_and_side),
        cmocka_unit_test(message_with_any_flipped_bit_is_refused),
        cmocka_unit_test(unauthenticated_refusal_is_limited_to_some_codes),
        cmocka_unit_test(answers_are_sealed_and_checked),
        cmocka_unit_test(reflected_request_is_not_an_answer),
        cmocka_unit_test(messages_out_of_order_are_refused),
        cmocka_unit_test(messages_of_another_session_are_refused),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
