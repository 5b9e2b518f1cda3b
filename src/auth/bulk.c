/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GMAC (NIST SP 800-38D) with OpenSSL's low-level functions, see docs/adr/0016. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "auth/auth.h"

#include <endian.h>
#include <string.h>

#include <openssl/aes.h>
#include <openssl/modes.h>

#include "base/mem.h"

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
