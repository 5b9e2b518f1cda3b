/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/auth.h"

static void parse_hex(const char *hex, uint8_t *out)
{
    for (; *hex; hex += 2, out++)
        assert_int_equal(sscanf(hex, "%2hhx", out), 1);
}

/* FIPS 180-4 examples. */
static void sha256_matches_fips_180_4(void **state)
{
    static const struct {
        const char *text, *hex;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t want[AUTH_HASH_SIZE], got[AUTH_HASH_SIZE];
        size_t len = strlen(rows[i].text);
        parse_hex(rows[i].hex, want);
        auth_hash(rows[i].text, len, got);
        assert_memory_equal(got, want, sizeof(want));
        for (size_t cut = 0; cut <= len; cut++) {
            auth_hash2(rows[i].text, cut, rows[i].text + cut, len - cut, got);
            assert_memory_equal(got, want, sizeof(want));
        }
    }
}

/* RFC 4231. The struct holds 32 bytes of key: RFC 2104 fills a shorter one with zeros, and takes
 * the hash of one that is longer than a block. */
static void hmac_matches_rfc_4231(void **state)
{
    static const struct {
        const char *key;
        size_t key_len; /* with a one-character key: that byte repeated */
        const char *data;
        size_t data_len;
        const char *hex;
    } rows[] = {
        {"\x0b", 20, "Hi There", 8,
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"Jefe", 4, "what do ya want for nothing?", 28,
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {"\xaa", 20, "\xdd", 50,
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {"\xaa", 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {"\xaa", 131,
         "This is a test using a larger than block-size key and a larger than block-size data. The "
         "key needs to be hashed before being used by the HMAC algorithm.",
         152, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct auth_key key = {0};
        uint8_t bytes[131], data[160], want[AUTH_MAC_SIZE], got[AUTH_MAC_SIZE];
        for (size_t k = 0; k < rows[i].key_len; k++)
            bytes[k] = (uint8_t)rows[i].key[rows[i].key[1] ? k : 0];
        for (size_t k = 0; k < rows[i].data_len; k++)
            data[k] = (uint8_t)rows[i].data[rows[i].data[1] ? k : 0];
        if (rows[i].key_len > 64)
            auth_hash(bytes, rows[i].key_len, key.mac_key);
        else
            memcpy(key.mac_key, bytes, rows[i].key_len);
        parse_hex(rows[i].hex, want);
        auth_mac(&key, data, rows[i].data_len, got);
        assert_memory_equal(got, want, sizeof(want));
        auth_mac2(&key, data, 3, data + 3, rows[i].data_len - 3, got);
        assert_memory_equal(got, want, sizeof(want));
    }
}

static void comparison_detects_every_bit(void **state)
{
    uint8_t a[AUTH_MAC_SIZE], b[AUTH_MAC_SIZE];

    auth_random(a, sizeof(a));
    memcpy(b, a, sizeof(b));
    assert_int_equal(auth_equal(a, b, sizeof(a)), 1);
    for (size_t bit = 0; bit < sizeof(a) * 8; bit++) {
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(auth_equal(a, b, sizeof(a)), 0);
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void different_bytes_make_different_keys(void **state)
{
    struct auth_key a, b, none = {0};

    auth_key_from_bytes("0123456789abcdef0123456789abcdef", 32, &a);
    auth_key_from_bytes("0123456789abcdef0123456789abcdee", 32, &b);
    assert_memory_not_equal(&a, &b, sizeof(a));
    auth_key_from_bytes("0123456789abcdef0123456789abcdef", 31, &b);
    assert_memory_not_equal(&a, &b, sizeof(a));
    auth_key_done(&a);
    assert_memory_equal(&a, &none, sizeof(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_matches_fips_180_4),
        cmocka_unit_test(hmac_matches_rfc_4231),
        cmocka_unit_test(comparison_detects_every_bit),
        cmocka_unit_test(different_bytes_make_different_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
