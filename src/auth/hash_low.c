/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 and HMAC-SHA256 without a provider, see docs/adr/0002; hash_evp.c has the FIPS
   variant. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "auth/auth.h"

#include <string.h>

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
