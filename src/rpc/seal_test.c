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

static void names(void **state)
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

static void proofs_bind(void **state)
{
    uint8_t want[AUTH_MAC_SIZE], got[AUTH_MAC_SIZE];
    struct rpc_transcript t = transcript;
    uint8_t *bytes = (uint8_t *)&t;

    rpc_seal_proof(&key, &transcript, true, want);
    rpc_seal_proof(&key, &transcript, false, got);
    assert_memory_not_equal(got, want, sizeof(got)); /* one side's can not stand for the other's */
    rpc_seal_proof(&other_key, &transcript, true, got);
    assert_memory_not_equal(got, want, sizeof(got));
    for (size_t bit = 0; bit < sizeof(t) * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        rpc_seal_proof(&key, &t, true, got);
        assert_memory_not_equal(got, want, sizeof(got));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static struct rpc_header header(const char *body)
{
    return (struct rpc_header){.version = RPC_VERSION,
                               .rpc = RPC_NODE_REPORT,
                               .flags = RPC_FLAG_SESSION,
                               .token_len = AUTH_MAC_SIZE,
                               .body_len = (uint32_t)strlen(body)};
}

static void every_bit_counts(void **state)
{
    struct rpc_seal a, b;
    char body[] = "some body";
    struct rpc_header h = header(body), bent;
    uint8_t mac[AUTH_MAC_SIZE];

    rpc_seal_init(&a, &key, &transcript, true);
    rpc_seal_init(&b, &key, &transcript, false);
    rpc_seal_sign(&a, &h, body, mac);
    for (size_t bit = 0; bit < strlen("some body") * 8; bit++) {
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
}

static void order(void **state)
{
    struct rpc_seal a, b;
    const char *body[] = {"one", "two", "six"};
    struct rpc_header h = header("one");
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

static void sessions_differ(void **state)
{
    struct rpc_seal a, b;
    struct rpc_transcript next = transcript;
    struct rpc_header h = header("x");
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
        cmocka_unit_test(names),
        cmocka_unit_test(proofs_bind),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(order),
        cmocka_unit_test(sessions_differ),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
