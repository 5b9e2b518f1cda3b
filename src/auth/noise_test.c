/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/evp.h>

#include "auth/noise.h"
#include "base/mem.h"

/* Hexadecimal digits to bytes; how many. */
static size_t unhex(const char *text, uint8_t *out)
{
    size_t len = strlen(text) / 2;

    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
    return len;
}

static void assert_hex(const uint8_t *got, const char *text)
{
    uint8_t expected[512];

    assert_memory_equal(got, expected, unhex(text, expected));
}

/* RFC 7748, section 5.2. */
static void x25519_gives_the_results_of_the_rfc(void **state)
{
    static const struct {
        const char *scalar, *point, *result;
    } vectors[] = {
        {"a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
         "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
         "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"},
        {"4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
         "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
         "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"},
    };
    uint8_t k[32] = {9}, u[32] = {9}, r[32];

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        unhex(vectors[i].scalar, k);
        unhex(vectors[i].point, u);
        assert_int_equal(auth_x25519(r, k, u), 0);
        assert_hex(r, vectors[i].result);
    }
    memset(k, 0, sizeof(k));
    k[0] = 9;
    memcpy(u, k, sizeof(u));
    for (unsigned i = 1; i <= 1000; i++) {
        assert_int_equal(auth_x25519(r, k, u), 0);
        memcpy(u, k, sizeof(u));
        memcpy(k, r, sizeof(k));
        if (i == 1)
            assert_hex(k, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
    }
    assert_hex(k, "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
}

static void openssl_x25519(uint8_t out[32], const uint8_t scalar[32], const uint8_t point[32])
{
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, scalar, 32);
    EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, point, 32);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(own, NULL);
    size_t len = 32;

    assert_int_equal(EVP_PKEY_derive_init(ctx), 1);
    assert_int_equal(EVP_PKEY_derive_set_peer(ctx, peer), 1);
    if (EVP_PKEY_derive(ctx, out, &len) != 1)
        memset(out, 0, 32); /* a point of small order */
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(own);
    EVP_PKEY_free(peer);
}

/* Random points, and those at the edges of the field, where a carry can be lost. */
static void x25519_agrees_with_openssl(void **state)
{
    uint8_t k[32], u[32], ours[32], theirs[32];

    for (unsigned i = 0; i < 600; i++) {
        auth_random(k, sizeof(k));
        auth_random(u, sizeof(u));
        if (i % 3 == 1) { /* near 2^255, on both sides of p */
            memset(u, 0xff, sizeof(u));
            u[0] = (uint8_t)i;
        } else if (i % 3 == 2) { /* limbs that are full or empty */
            for (size_t b = 0; b < sizeof(u); b++)
                u[b] = u[b] & 1 ? 0xff : 0;
        }
        assert_int_equal(auth_x25519(ours, k, u) == 0,
                         (openssl_x25519(theirs, k, u), 1) && memcmp(theirs, (uint8_t[32]){0}, 32));
        assert_memory_equal(ours, theirs, sizeof(ours));
    }
}

static void x25519_refuses_points_of_small_order(void **state)
{
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    };
    uint8_t k[32], u[32], r[32];

    auth_random(k, sizeof(k));
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        unhex(points[i], u);
        assert_int_equal(auth_x25519(r, k, u), -ERR_AUTH);
    }
}

/* OpenSSL's own AES-256-GCM, by EVP. */
static void openssl_gcm(const uint8_t key[32], uint64_t number, const void *ad, size_t ad_len,
                        const uint8_t *in, size_t len, uint8_t *out)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    uint8_t nonce[12] = {0};
    int n;

    for (unsigned i = 0; i < 8; i++)
        nonce[11 - i] = (uint8_t)(number >> 8 * i);
    assert_int_equal(EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce), 1);
    if (ad_len)
        assert_int_equal(EVP_EncryptUpdate(c, NULL, &n, ad, (int)ad_len), 1);
    assert_int_equal(EVP_EncryptUpdate(c, out, &n, in, (int)len), 1);
    assert_int_equal(EVP_EncryptFinal_ex(c, out + len, &n), 1);
    assert_int_equal(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, out + len), 1);
    EVP_CIPHER_CTX_free(c);
}

static void aead_agrees_with_openssl_at_every_length(void **state)
{
    uint8_t key[32], ad[32], in[5000], ours[5016], theirs[5016], back[5000];
    struct auth_aead *a;

    auth_random(key, sizeof(key));
    auth_random(ad, sizeof(ad));
    auth_random(in, sizeof(in));
    a = auth_aead_new(key);
    for (size_t len = 0; len <= sizeof(in); len += len < 600 ? 1 : 367) {
        uint64_t number = len * UINT64_C(0x0123456789abcdef);
        size_t ad_len = len % (sizeof(ad) + 1);

        openssl_gcm(key, number, ad, ad_len, in, len, theirs);
        auth_aead_seal(a, number, ad, ad_len, in, len, ours);
        assert_memory_equal(ours, theirs, len + 16);
        assert_int_equal(auth_aead_open(a, number, ad, ad_len, ours, len + 16, back), 0);
        assert_memory_equal(back, in, len);
        assert_int_equal(auth_aead_open(a, number, ad, ad_len, ours, len + 16, ours), 0);
        assert_memory_equal(ours, in, len); /* in its own place */
        theirs[len % (len + 16)] ^= 1;
        assert_int_equal(auth_aead_open(a, number, ad, ad_len, theirs, len + 16, back), -ERR_AUTH);
    }
    assert_int_equal(auth_aead_open(a, 0, NULL, 0, ours, 15, back), -ERR_AUTH);
    auth_aead_free(a);
}

/* From the vectors of github.com/flynn/noise. */
static void handshake_gives_the_published_vectors(void **state)
{
    uint8_t psk[32], begins[32], answers[32], first[48], second[48], text[64], sealed[80];
    size_t len;
    struct auth_noise_start a = {.psk = psk, .secret = begins}, b = {.psk = psk, .secret = answers};
    struct auth_noise *here, *there;

    unhex("2176657279736563726574766572797365637265747665727973656372657421", psk);
    unhex("202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f", begins);
    unhex("4142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f60", answers);
    here = auth_noise_begin(&a, first);
    assert_hex(first, "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254"
                      "4833316e6c21d899aec6c5f0c6e85e13");
    there = auth_noise_answer(&b, first, second);
    assert_non_null(there);
    assert_hex(second, "64b101b1d0be5a8704bd078f9895001fc03e8e9f9522f188dd128d9846d48466"
                       "d3ec4419885d86e6d7310fb1d2263afd");
    assert_int_equal(auth_noise_finish(here, second), 0);
    len = unhex("79656c6c6f777375626d6172696e65", text);
    auth_noise_seal(here, text, len, sealed);
    assert_hex(sealed, "6a7b199c69a64cc2ea3c556cf17489fd2ae452d3f3c2a0871cebd327fc31c6");
    assert_int_equal(auth_noise_open(there, sealed, len + 16, sealed), 0);
    assert_memory_equal(sealed, text, len);
    len = unhex("7375626d6172696e6579656c6c6f77", text);
    auth_noise_seal(there, text, len, sealed);
    assert_hex(sealed, "e58d43e0c69d8c15df523586b2c58ca40cb0472b5b3775f1cca807fee28a71");
    assert_int_equal(auth_noise_open(here, sealed, len + 16, sealed), 0);
    auth_noise_free(here);
    auth_noise_free(there);
}

static void handshake_fails_when_anything_differs(void **state)
{
    static const uint8_t secret[] = "a cluster key of at least thirty-two bytes";
    struct auth_key key, other;
    struct auth_noise_key k, wrong;
    uint8_t first[48], second[48];
    struct auth_noise *n, *m;

    auth_key_from_bytes(secret, sizeof(secret), &key);
    auth_key_from_bytes(secret + 1, sizeof(secret) - 1, &other);
    auth_noise_key_make(&key, &k);
    auth_noise_key_of(&key, k.id, &wrong);
    assert_memory_equal(&wrong, &k, sizeof(k));
    auth_noise_key_of(&other, k.id, &wrong);
    struct auth_noise_start s = {k.psk, k.id, sizeof(k.id), NULL};
    struct auth_noise_start of_other_key = {wrong.psk, k.id, sizeof(k.id), NULL};
    struct auth_noise_start of_other_id = {k.psk, wrong.psk, sizeof(wrong.psk), NULL};

    n = auth_noise_begin(&s, first);
    assert_null(auth_noise_answer(&of_other_key, first, second));
    assert_null(auth_noise_answer(&of_other_id, first, second));
    for (size_t i = 0; i < sizeof(first); i++) {
        first[i] ^= 0x40;
        assert_null(auth_noise_answer(&s, first, second));
        first[i] ^= 0x40;
    }
    auth_noise_free(n);
    for (size_t i = 0; i < sizeof(second); i++) {
        n = auth_noise_begin(&s, first);
        m = auth_noise_answer(&s, first, second);
        assert_non_null(m);
        second[i] ^= 0x40;
        assert_int_equal(auth_noise_finish(n, second), -ERR_AUTH);
        auth_noise_free(n);
        auth_noise_free(m);
    }
}

static void open_channel_refuses_repeated_and_reordered_messages(void **state)
{
    static const uint8_t psk[32] = {1};
    struct auth_noise_start s = {.psk = psk};
    uint8_t first[48], second[48], one[20], two[20], out[20];
    struct auth_noise *n = auth_noise_begin(&s, first), *m = auth_noise_answer(&s, first, second);

    assert_int_equal(auth_noise_finish(n, second), 0);
    auth_noise_seal(n, (const uint8_t *)"one ", 4, one);
    auth_noise_seal(n, (const uint8_t *)"two ", 4, two);
    assert_int_equal(auth_noise_open(m, two, 20, out), -ERR_AUTH);
    assert_int_equal(auth_noise_open(m, one, 20, out), 0);
    assert_int_equal(auth_noise_open(m, one, 20, out), -ERR_AUTH);
    assert_int_equal(auth_noise_open(n, one, 20, out), -ERR_AUTH); /* the other direction's key */
    auth_noise_free(n);
    auth_noise_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x25519_gives_the_results_of_the_rfc),
        cmocka_unit_test(x25519_agrees_with_openssl),
        cmocka_unit_test(x25519_refuses_points_of_small_order),
        cmocka_unit_test(aead_agrees_with_openssl_at_every_length),
        cmocka_unit_test(handshake_gives_the_published_vectors),
        cmocka_unit_test(handshake_fails_when_anything_differs),
        cmocka_unit_test(open_channel_refuses_repeated_and_reordered_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
