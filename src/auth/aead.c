/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AES-256-GCM (NIST SP 800-38D) without a provider, see docs/adr/0032: OpenSSL's low-level GCM,
 * whose AES is in tables. On x86 the processor's own AES takes their place: ten times as fast, and
 * its time does not depend on the key.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "auth/noise.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/aes.h>
#include <openssl/modes.h>

#include "base/mem.h"

#define ROUNDS 14
#define BLOCK 16

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_AES_INSTRUCTIONS 1
#define WITH_AES __attribute__((target("aes,sse4.1,ssse3")))
#endif

struct auth_aead {
#ifdef HAS_AES_INSTRUCTIONS
    __m128i schedule[ROUNDS + 1];
#endif
    AES_KEY tables;
    GCM128_CONTEXT *gcm; /* refers to this struct */
    bool has_instructions;
};

static void block_by_tables(const unsigned char in[BLOCK], unsigned char out[BLOCK],
                            const void *key)
{
    AES_encrypt(in, out, &((const struct auth_aead *)key)->tables);
}

#ifdef HAS_AES_INSTRUCTIONS
#define LANES 8

/* One word of the key's expansion (FIPS 197, section 5.2), four at a time. */
WITH_AES static __m128i expand(__m128i before, __m128i assist)
{
    before = _mm_xor_si128(before, _mm_slli_si128(before, 4));
    before = _mm_xor_si128(before, _mm_slli_si128(before, 8));
    return _mm_xor_si128(before, assist);
}

#define EXPAND_EVEN(at, rcon)                                                                      \
    s[at] = expand(s[(at)-2], _mm_shuffle_epi32(_mm_aeskeygenassist_si128(s[(at)-1], rcon), 0xff))
#define EXPAND_ODD(at)                                                                             \
    s[at] = expand(s[(at)-2], _mm_shuffle_epi32(_mm_aeskeygenassist_si128(s[(at)-1], 0), 0xaa))

WITH_AES static void set_key(struct auth_aead *a, const uint8_t key[AUTH_AEAD_KEY_SIZE])
{
    __m128i *s = a->schedule;

    s[0] = _mm_loadu_si128((const __m128i *)key);
    s[1] = _mm_loadu_si128((const __m128i *)(key + BLOCK));
    EXPAND_EVEN(2, 0x01);
    EXPAND_ODD(3);
    EXPAND_EVEN(4, 0x02);
    EXPAND_ODD(5);
    EXPAND_EVEN(6, 0x04);
    EXPAND_ODD(7);
    EXPAND_EVEN(8, 0x08);
    EXPAND_ODD(9);
    EXPAND_EVEN(10, 0x10);
    EXPAND_ODD(11);
    EXPAND_EVEN(12, 0x20);
    EXPAND_ODD(13);
    EXPAND_EVEN(14, 0x40);
}

WITH_AES static void block_by_instructions(const unsigned char in[BLOCK], unsigned char out[BLOCK],
                                           const void *key)
{
    const __m128i *s = ((const struct auth_aead *)key)->schedule;
    __m128i b = _mm_xor_si128(_mm_loadu_si128((const __m128i *)in), s[0]);

    for (unsigned i = 1; i < ROUNDS; i++)
        b = _mm_aesenc_si128(b, s[i]);
    _mm_storeu_si128((__m128i *)out, _mm_aesenclast_si128(b, s[ROUNDS]));
}

/* The counter is the last four bytes, big-endian. */
WITH_AES static __m128i counter_block(__m128i first, uint32_t count)
{
    return _mm_insert_epi32(first, (int)htobe32(count), 3);
}

/* CRYPTO_gcm128_encrypt_ctr32()'s stream: in and out may be the same. */
WITH_AES static void stream(const unsigned char *in, unsigned char *out, size_t blocks,
                            const void *key, const unsigned char ivec[BLOCK])
{
    const __m128i *s = ((const struct auth_aead *)key)->schedule;
    __m128i first = _mm_loadu_si128((const __m128i *)ivec), lane[LANES];
    uint32_t count = be32toh((uint32_t)_mm_extract_epi32(first, 3));

    for (; blocks >= LANES; blocks -= LANES, count += LANES) {
        for (unsigned l = 0; l < LANES; l++)
            lane[l] = _mm_xor_si128(counter_block(first, count + l), s[0]);
        for (unsigned i = 1; i < ROUNDS; i++)
            for (unsigned l = 0; l < LANES; l++)
                lane[l] = _mm_aesenc_si128(lane[l], s[i]);
        for (unsigned l = 0; l < LANES; l++) {
            __m128i text = _mm_loadu_si128((const __m128i *)in + l);
            lane[l] = _mm_aesenclast_si128(lane[l], s[ROUNDS]);
            _mm_storeu_si128((__m128i *)out + l, _mm_xor_si128(lane[l], text));
        }
        in += (size_t)LANES * BLOCK;
        out += (size_t)LANES * BLOCK;
    }
    for (; blocks; blocks--, count++, in += BLOCK, out += BLOCK) {
        unsigned char pad[BLOCK];
        _mm_storeu_si128((__m128i *)pad, counter_block(first, count));
        block_by_instructions(pad, pad, key);
        for (unsigned i = 0; i < BLOCK; i++)
            out[i] = in[i] ^ pad[i];
    }
}
#endif

struct auth_aead *auth_aead_new(const uint8_t key[AUTH_AEAD_KEY_SIZE])
{
    struct auth_aead *a = mem_new(struct auth_aead);
    block128_f block = block_by_tables;

#ifdef HAS_AES_INSTRUCTIONS
    if (__builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1")) {
        a->has_instructions = true;
        set_key(a, key);
        block = block_by_instructions;
    }
#endif
    if (!a->has_instructions)
        AES_set_encrypt_key(key, AUTH_AEAD_KEY_SIZE * 8, &a->tables);
    a->gcm = CRYPTO_gcm128_new(a, block);
    if (!a->gcm)
        abort(); /* out of memory, as mem.h has it */
    return a;
}

void auth_aead_free(struct auth_aead *a)
{
    if (!a)
        return;
    CRYPTO_gcm128_release(a->gcm); /* wipes it */
    mem_wipe(a, sizeof(*a));
    free(a);
}

static void begin(struct auth_aead *a, uint64_t number, const void *ad, size_t ad_len)
{
    uint8_t nonce[12] = {0};

    number = htobe64(number);
    memcpy(nonce + 4, &number, sizeof(number));
    CRYPTO_gcm128_setiv(a->gcm, nonce, sizeof(nonce));
    if (ad_len)
        CRYPTO_gcm128_aad(a->gcm, ad, ad_len);
}

void auth_aead_seal(struct auth_aead *a, uint64_t number, const void *ad, size_t ad_len,
                    const uint8_t *in, size_t len, uint8_t *out)
{
    begin(a, number, ad, ad_len);
#ifdef HAS_AES_INSTRUCTIONS
    if (a->has_instructions)
        CRYPTO_gcm128_encrypt_ctr32(a->gcm, in, out, len, stream);
#endif
    if (!a->has_instructions)
        CRYPTO_gcm128_encrypt(a->gcm, in, out, len);
    CRYPTO_gcm128_tag(a->gcm, out + len, AUTH_AEAD_TAG_SIZE);
}

int auth_aead_open(struct auth_aead *a, uint64_t number, const void *ad, size_t ad_len,
                   const uint8_t *in, size_t len, uint8_t *out)
{
    uint8_t tag[AUTH_AEAD_TAG_SIZE], got[AUTH_AEAD_TAG_SIZE];

    if (len < sizeof(tag))
        return -ERR_AUTH;
    len -= sizeof(tag);
    memcpy(got, in + len, sizeof(got));
    begin(a, number, ad, ad_len);
#ifdef HAS_AES_INSTRUCTIONS
    if (a->has_instructions)
        CRYPTO_gcm128_decrypt_ctr32(a->gcm, in, out, len, stream);
#endif
    if (!a->has_instructions)
        CRYPTO_gcm128_decrypt(a->gcm, in, out, len);
    CRYPTO_gcm128_tag(a->gcm, tag, sizeof(tag));
    return auth_equal(tag, got, sizeof(tag)) ? 0 : -ERR_AUTH;
}
