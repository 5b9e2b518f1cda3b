/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "auth/noise.h"
#include "base/mem.h"

/* Hexadecimal digits to bytes; how many. */
static size_t parse_hex(const char *text, uint8_t *out)
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

    assert_memory_equal(got, expected, parse_hex(text, expected));
}

/*
 * A peer that shares no code with noise.c: the messages of section 7.5 of the specification, by
 * OpenSSL's EVP. It can send any public key.
 */
struct peer {
    uint8_t ck[32], h[32], k[32], secret[32], send_key[32], receive_key[32];
};

static void compute_evp_hash(const void *a, size_t a_len, const void *b, size_t b_len,
                             uint8_t out[32])
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();

    assert_int_equal(EVP_DigestInit(c, EVP_sha256()), 1);
    assert_int_equal(EVP_DigestUpdate(c, a, a_len), 1);
    assert_int_equal(EVP_DigestUpdate(c, b, b_len), 1);
    assert_int_equal(EVP_DigestFinal(c, out, NULL), 1);
    EVP_MD_CTX_free(c);
}

static void compute_evp_hkdf(const uint8_t salt[32], const void *input, size_t len, uint8_t *out,
                             size_t n)
{
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, NULL);

    assert_int_equal(EVP_PKEY_derive_init(c), 1);
    assert_int_equal(EVP_PKEY_CTX_set_hkdf_md(c, EVP_sha256()), 1);
    assert_int_equal(EVP_PKEY_CTX_set1_hkdf_salt(c, salt, 32), 1);
    assert_int_equal(EVP_PKEY_CTX_set1_hkdf_key(c, input, (int)len), 1);
    assert_int_equal(EVP_PKEY_derive(c, out, &n), 1);
    EVP_PKEY_CTX_free(c);
}

static void compute_evp_public(uint8_t out[32], const uint8_t secret[32])
{
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, 32);
    size_t len = 32;

    assert_int_equal(EVP_PKEY_get_raw_public_key(own, out, &len), 1);
    EVP_PKEY_free(own);
}

/* Zeros if the point is of small order. */
static void compute_evp_shared(uint8_t out[32], const uint8_t secret[32], const uint8_t point[32])
{
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, 32);
    EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, point, 32);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(own, NULL);
    size_t len = 32;

    assert_int_equal(EVP_PKEY_derive_init(ctx), 1);
    assert_int_equal(EVP_PKEY_derive_set_peer(ctx, peer), 1);
    if (EVP_PKEY_derive(ctx, out, &len) != 1)
        memset(out, 0, 32);
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(own);
    EVP_PKEY_free(peer);
}

static void seal_by_evp(const uint8_t key[32], uint64_t number, const uint8_t *ad, size_t ad_len,
                        const uint8_t *in, size_t len, uint8_t *out)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    uint8_t nonce[12] = {0};
    int n;

    for (unsigned i = 0; i < 8; i++)
        nonce[4 + i] = (uint8_t)(number >> 8 * i);
    assert_int_equal(EVP_EncryptInit_ex(c, EVP_chacha20_poly1305(), NULL, key, nonce), 1);
    if (ad_len)
        assert_int_equal(EVP_EncryptUpdate(c, NULL, &n, ad, (int)ad_len), 1);
    assert_int_equal(EVP_EncryptUpdate(c, out, &n, in, (int)len), 1);
    assert_int_equal(EVP_EncryptFinal_ex(c, out + len, &n), 1);
    assert_int_equal(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, out + len), 1);
    EVP_CIPHER_CTX_free(c);
}

static void mix_peer_hash(struct peer *p, const void *data, size_t len)
{
    compute_evp_hash(p->h, 32, data, len, p->h);
}

static void mix_peer_key(struct peer *p, const uint8_t input[32])
{
    uint8_t out[64];

    compute_evp_hkdf(p->ck, input, 32, out, sizeof(out));
    memcpy(p->ck, out, 32);
    memcpy(p->k, out + 32, 32);
}

static void start_peer(struct peer *p, const struct auth_noise_start *s)
{
    static const char name[] = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
    uint8_t out[96];

    compute_evp_hash(name, sizeof(name) - 1, NULL, 0, p->h);
    memcpy(p->ck, p->h, 32);
    mix_peer_hash(p, s->prologue, s->prologue_len);
    compute_evp_hkdf(p->ck, s->psk, 32, out, sizeof(out));
    memcpy(p->ck, out, 32);
    mix_peer_hash(p, out + 32, 32);
    memcpy(p->k, out + 64, 32);
    auth_random(p->secret, 32);
}

static void mix_peer_public_key(struct peer *p, const uint8_t e[32])
{
    mix_peer_hash(p, e, 32);
    mix_peer_key(p, e);
}

static void seal_peer_tag(struct peer *p, uint8_t tag[16])
{
    seal_by_evp(p->k, 0, p->h, 32, NULL, 0, tag);
    mix_peer_hash(p, tag, 16);
}

/* The first message; point: the public key to send, NULL for the peer's own. */
static void write_first_message(struct peer *p, const struct auth_noise_start *s,
                                const uint8_t *point, uint8_t first[48])
{
    start_peer(p, s);
    compute_evp_public(first, p->secret);
    if (point)
        memcpy(first, point, 32);
    mix_peer_public_key(p, first);
    seal_peer_tag(p, first + 32);
}

static void split_peer_keys(struct peer *p, bool begins)
{
    uint8_t out[64];

    compute_evp_hkdf(p->ck, "", 0, out, sizeof(out));
    memcpy(p->send_key, out + (begins ? 0 : 32), 32);
    memcpy(p->receive_key, out + (begins ? 32 : 0), 32);
}

static void read_second_message(struct peer *p, const uint8_t second[48])
{
    uint8_t shared[32], tag[16];

    mix_peer_public_key(p, second);
    compute_evp_shared(shared, p->secret, second);
    mix_peer_key(p, shared);
    seal_peer_tag(p, tag);
    assert_memory_equal(tag, second + 32, sizeof(tag));
    split_peer_keys(p, true);
}

static void answer_first_message(struct peer *p, const struct auth_noise_start *s,
                                 const uint8_t *point, const uint8_t first[48], uint8_t second[48])
{
    uint8_t shared[32], tag[16];

    start_peer(p, s);
    mix_peer_public_key(p, first);
    seal_peer_tag(p, tag);
    assert_memory_equal(tag, first + 32, sizeof(tag));
    compute_evp_public(second, p->secret);
    if (point)
        memcpy(second, point, 32);
    mix_peer_public_key(p, second);
    compute_evp_shared(shared, p->secret, first);
    if (point) /* of a small order: whatever the secret is, this is shared */
        memset(shared, 0, sizeof(shared));
    mix_peer_key(p, shared);
    seal_peer_tag(p, second + 32);
    split_peer_keys(p, false);
}

/* Messages of every length, both ways. */
static void assert_same_channel(struct auth_noise *n, const struct peer *p)
{
    uint8_t in[5000], ours[5016], theirs[5016];
    uint64_t number = 0;

    auth_random(in, sizeof(in));
    for (size_t len = 0; len <= sizeof(in); len += len < 300 ? 1 : 367, number++) {
        seal_by_evp(p->receive_key, number, NULL, 0, in, len, theirs);
        auth_noise_seal(n, in, len, ours);
        assert_memory_equal(ours, theirs, len + 16);
        seal_by_evp(p->send_key, number, NULL, 0, in, len, theirs);
        theirs[number % (len + 16)] ^= 1;
        assert_int_equal(auth_noise_open(n, theirs, len + 16, ours), -ERR_AUTH);
        theirs[number % (len + 16)] ^= 1;
        assert_int_equal(auth_noise_open(n, theirs, len + 16, theirs), 0); /* in its own place */
        assert_memory_equal(theirs, in, len);
    }
    assert_int_equal(auth_noise_open(n, theirs, 15, ours), -ERR_AUTH);
}

static void channel_agrees_with_openssl(void **state)
{
    static const uint8_t psk[32] = {7};
    uint8_t first[48], second[48];
    struct auth_noise *n;
    struct peer p;

    for (size_t i = 0; i < 50; i++) {
        struct auth_noise_start s = {.psk = psk, .prologue = psk, .prologue_len = i % 33};

        write_first_message(&p, &s, NULL, first);
        n = auth_noise_answer(&s, first, second);
        assert_non_null(n);
        read_second_message(&p, second);
        assert_same_channel(n, &p);
        auth_noise_free(n);
        n = auth_noise_begin(&s, first);
        answer_first_message(&p, &s, NULL, first, second);
        assert_int_equal(auth_noise_finish(n, second), 0);
        assert_same_channel(n, &p);
        auth_noise_free(n);
    }
}

/* All of them (cr.yp.to/ecdh.html), with either top bit, which X25519 ignores: with one of them, a
 * peer would choose the shared secret. */
static void points_of_small_order_are_refused(void **state)
{
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    };
    static const uint8_t psk[32] = {7};
    struct auth_noise_start s = {.psk = psk};
    uint8_t point[32], first[48], second[48];
    struct auth_noise *n;
    struct peer p;

    for (size_t i = 0; i < 2 * sizeof(points) / sizeof(points[0]); i++) {
        parse_hex(points[i / 2], point);
        point[31] ^= (uint8_t)(i % 2 << 7);
        write_first_message(&p, &s, point, first);
        assert_null(auth_noise_answer(&s, first, second));
        n = auth_noise_begin(&s, first);
        answer_first_message(&p, &s, point, first, second);
        assert_int_equal(auth_noise_finish(n, second), -ERR_AUTH);
        auth_noise_free(n);
    }
}

/* From the vectors of github.com/flynn/noise. */
static void handshake_gives_the_published_vectors(void **state)
{
    uint8_t psk[32], begins[32], answers[32], first[48], second[48], text[64], sealed[80];
    size_t len;
    struct auth_noise_start a = {.psk = psk, .secret = begins}, b = {.psk = psk, .secret = answers};
    struct auth_noise *here, *there;

    parse_hex("2176657279736563726574766572797365637265747665727973656372657421", psk);
    parse_hex("202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f", begins);
    parse_hex("4142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f60", answers);
    here = auth_noise_begin(&a, first);
    assert_hex(first, "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254"
                      "e7136508cb8178281204abd62e9f2a3e");
    there = auth_noise_answer(&b, first, second);
    assert_non_null(there);
    assert_hex(second, "64b101b1d0be5a8704bd078f9895001fc03e8e9f9522f188dd128d9846d48466"
                       "922f3b7824001193c077abd8b7a73030");
    assert_int_equal(auth_noise_finish(here, second), 0);
    len = parse_hex("79656c6c6f777375626d6172696e65", text);
    auth_noise_seal(here, text, len, sealed);
    assert_hex(sealed, "b349a522c145762c7c737ac1d1425ce1fb25c7cca626177ee4ceed3cd6fb3d");
    assert_int_equal(auth_noise_open(there, sealed, len + 16, sealed), 0);
    assert_memory_equal(sealed, text, len);
    len = parse_hex("7375626d6172696e6579656c6c6f77", text);
    auth_noise_seal(there, text, len, sealed);
    assert_hex(sealed, "b41e24399dc3f1ad2faf82868700e4bf31bb89f6616e1d6a92802bb8ad80d6");
    assert_int_equal(auth_noise_open(here, sealed, len + 16, sealed), 0);
    auth_noise_free(here);
    auth_noise_free(there);
}

static void handshake_fails_when_any_input_differs(void **state)
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
    for (int i = 0; i < 3; i++) {
        assert_int_equal(auth_noise_open(m, two, 20, out), 0);
        assert_int_equal(auth_noise_open(m, one, 20, out), -ERR_AUTH);
        assert_int_equal(auth_noise_open(m, two, 20, out), -ERR_AUTH);
        auth_noise_seal(n, (const uint8_t *)"more", 4, two);
    }
    auth_noise_free(n);
    auth_noise_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channel_agrees_with_openssl),
        cmocka_unit_test(points_of_small_order_are_refused),
        cmocka_unit_test(handshake_gives_the_published_vectors),
        cmocka_unit_test(handshake_fails_when_any_input_differs),
        cmocka_unit_test(open_channel_refuses_repeated_and_reordered_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
