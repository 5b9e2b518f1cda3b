/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "auth/auth.h"
#include "base/mem.h"

/* The same by another road: AES-256-GCM of nothing, with the data beside it. */
static void compute_gmac_by_openssl(const struct auth_key *key, const uint8_t nonce[12],
                                    const void *data, size_t len, uint8_t tag[AUTH_BULK_SIZE])
{
    uint8_t bytes[AUTH_MAC_SIZE], none[16];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n;

    auth_mac(key, "sluice bulk key 1", sizeof("sluice bulk key 1"), bytes);
    assert_int_equal(EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, bytes, nonce), 1);
    if (len)
        assert_int_equal(EVP_EncryptUpdate(ctx, NULL, &n, data, (int)len), 1);
    assert_int_equal(EVP_EncryptFinal_ex(ctx, none, &n), 1);
    assert_int_equal(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, AUTH_BULK_SIZE, tag), 1);
    EVP_CIPHER_CTX_free(ctx);
}

static void tag_equals_gmac_of_openssl(void **state)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 255, 4096, 32768, 100001};
    _cleanup_free_ uint8_t *data = mem_alloc(100002);
    struct auth_key key;

    auth_key_from_bytes("bulk", 4, &key);
    auth_random(data, 100002);
    struct auth_bulk *b = auth_bulk_new(&key);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint8_t want[AUTH_BULK_SIZE], got[AUTH_BULK_SIZE];
        uint8_t nonce[12] = {(uint8_t)i, 2, 3, 4, 5, 6, 7, 8};
        auth_bulk_tag(b, 0x0807060504030200 + i, data + i % 2, sizes[i], got);
        compute_gmac_by_openssl(&key, nonce, data + i % 2, sizes[i], want);
        assert_memory_equal(got, want, sizeof(want));
    }
    auth_bulk_free(b);
}

static void tag_depends_on_key_counter_and_data(void **state)
{
    uint8_t data[64] = "some data", want[AUTH_BULK_SIZE], got[AUTH_BULK_SIZE];
    struct auth_key key, other;

    auth_key_from_bytes("bulk", 4, &key);
    auth_key_from_bytes("bull", 4, &other);
    struct auth_bulk *b = auth_bulk_new(&key), *c = auth_bulk_new(&other);
    auth_bulk_tag(b, 7, data, sizeof(data), want);
    auth_bulk_tag(c, 7, data, sizeof(data), got);
    assert_memory_not_equal(got, want, sizeof(want));
    auth_bulk_tag(b, 8, data, sizeof(data), got);
    assert_memory_not_equal(got, want, sizeof(want));
    auth_bulk_tag(b, 7, data, sizeof(data) - 1, got);
    assert_memory_not_equal(got, want, sizeof(want));
    for (size_t bit = 0; bit < sizeof(data) * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        auth_bulk_tag(b, 7, data, sizeof(data), got);
        assert_memory_not_equal(got, want, sizeof(want));
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    auth_bulk_tag(b, 7, data, sizeof(data), got);
    assert_memory_equal(got, want, sizeof(want));
    auth_bulk_free(b);
    auth_bulk_free(c);
    auth_bulk_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tag_equals_gmac_of_openssl),
        cmocka_unit_test(tag_depends_on_key_counter_and_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
