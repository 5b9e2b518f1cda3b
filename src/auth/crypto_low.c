/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SHA-256, HMAC-SHA256 (docs/adr/0002) and GMAC (NIST SP 800-38D, docs/adr/0016) with OpenSSL's
 * low-level functions, which need no provider; crypto_evp.c has the FIPS variant.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "auth/auth.h"

#include <endian.h>
#include <string.h>

#include <openssl/aes.h>
#include <openssl/modes.h>
#include <openssl/sha.h>

#include "base/mem.h"

#define BLOCK_SIZE 64 /* of SHA-256, RFC 2104's B */

_Static_assert(AUTH_HASH_SIZE == SHA256_DIGEST_LENGTH, "the hash is SHA-256");
_Static_assert(AUTH_MAC_SIZE == SHA256_DIGEST_LENGTH, "the MAC is HMAC-SHA256");

static void update_hash(SHA256_CTX *ctx, const void *data, size_t len)
{
    if (len) /* NULL with length 0 is a valid part, but not a valid argument of that function */
        SHA256_Update(ctx, data, len);
}

void auth_hash2(const void *a, size_t a_len, const void *b, size_t b_len,
                uint8_t hash[AUTH_HASH_SIZE])
{
    SHA256_CTX ctx;

    SHA256_Init(&ctx);
    update_hash(&ctx, a, a_len);
    update_hash(&ctx, b, b_len);
    SHA256_Final(hash, &ctx);
}

static void pad_key(const struct auth_key *key, uint8_t fill, uint8_t block[BLOCK_SIZE])
{
    memset(block, fill, BLOCK_SIZE);
    for (size_t i = 0; i < sizeof(key->mac_key); i++)
        block[i] ^= key->mac_key[i];
}

void auth_mac2(const struct auth_key *key, const void *a, size_t a_len, const void *b, size_t b_len,
               uint8_t mac[AUTH_MAC_SIZE])
{
    SHA256_CTX ctx;
    uint8_t block[BLOCK_SIZE], inner[AUTH_HASH_SIZE];

    pad_key(key, 0x36, block);
    SHA256_Init(&ctx);
    SHA256_Update(&ctx, block, sizeof(block));
    update_hash(&ctx, a, a_len);
    update_hash(&ctx, b, b_len);
    SHA256_Final(inner, &ctx);

    pad_key(key, 0x5c, block);
    SHA256_Init(&ctx);
    SHA256_Update(&ctx, block, sizeof(block));
    SHA256_Update(&ctx, inner, sizeof(inner));
    SHA256_Final(mac, &ctx);
    mem_wipe(block, sizeof(block));
    mem_wipe(&ctx, sizeof(ctx));
}

struct auth_bulk {
    AES_KEY aes;
    GCM128_CONTEXT *gcm; /* refers to aes */
};

static void aes_block(const unsigned char in[16], unsigned char out[16], const void *key)
{
    AES_encrypt(in, out, key);
}

static struct auth_bulk *new_of_bytes(const uint8_t key[AUTH_MAC_SIZE])
{
    struct auth_bulk *b = mem_new(struct auth_bulk);

    AES_set_encrypt_key(key, AUTH_MAC_SIZE * 8, &b->aes);
    b->gcm = CRYPTO_gcm128_new(&b->aes, aes_block);
    if (!b->gcm)
        abort(); /* out of memory, as in mem.h */
    return b;
}

struct auth_bulk *auth_bulk_new(const struct auth_key *key)
{
    static const char label[] = "sluice bulk key 1";
    uint8_t bytes[AUTH_MAC_SIZE];

    auth_mac(key, label, sizeof(label), bytes);
    struct auth_bulk *b = new_of_bytes(bytes);
    mem_wipe(bytes, sizeof(bytes));
    return b;
}

void auth_bulk_free(struct auth_bulk *b)
{
    if (!b)
        return;
    CRYPTO_gcm128_release(b->gcm); /* wipes it */
    mem_wipe(&b->aes, sizeof(b->aes));
    free(b);
}

void auth_bulk_tag(struct auth_bulk *b, uint64_t number, const void *data, size_t len,
                   uint8_t tag[AUTH_BULK_SIZE])
{
    uint8_t nonce[12] = {0};

    number = htole64(number);
    memcpy(nonce, &number, sizeof(number));
    CRYPTO_gcm128_setiv(b->gcm, nonce, sizeof(nonce));
    CRYPTO_gcm128_aad(b->gcm, data, len);
    CRYPTO_gcm128_tag(b->gcm, tag, AUTH_BULK_SIZE);
}
