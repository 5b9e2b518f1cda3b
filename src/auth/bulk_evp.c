/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GMAC of OpenSSL's providers, for builds with -Dfips=true, see docs/adr/0047. */
#include "auth/auth.h"

#include <endian.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/mem.h"

struct auth_bulk {
    EVP_CIPHER *gcm;
    EVP_CIPHER_CTX *ctx; /* holds the key */
};

struct auth_bulk *auth_bulk_new(const struct auth_key *key)
{
    static const char label[] = "sluice bulk key 1";
    uint8_t bytes[AUTH_MAC_SIZE];
    struct auth_bulk *b = mem_new(struct auth_bulk);

    auth_mac(key, label, sizeof(label), bytes);
    b->gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    b->ctx = EVP_CIPHER_CTX_new();
    if (!b->gcm || !b->ctx || EVP_EncryptInit_ex2(b->ctx, b->gcm, bytes, NULL, NULL) != 1)
        abort(); /* no provider in openssl.cnf has it, so nothing could be authenticated */
    mem_wipe(bytes, sizeof(bytes));
    return b;
}

void auth_bulk_free(struct auth_bulk *b)
{
    if (!b)
        return;
    EVP_CIPHER_CTX_free(b->ctx); /* wipes it */
    EVP_CIPHER_free(b->gcm);
    free(b);
}

void auth_bulk_tag(struct auth_bulk *b, uint64_t number, const void *data, size_t len,
                   uint8_t tag[AUTH_BULK_SIZE])
{
    uint8_t nonce[12] = {0}, none[16];
    int n;

    number = htole64(number);
    memcpy(nonce, &number, sizeof(number));
    bool good = EVP_EncryptInit_ex2(b->ctx, NULL, NULL, nonce, NULL) == 1;
    for (const uint8_t *at = data; good && len;) {
        int part = len > INT_MAX ? INT_MAX : (int)len;
        good = EVP_EncryptUpdate(b->ctx, NULL, &n, at, part) == 1;
        at += part;
        len -= (size_t)part;
    }
    good = good && EVP_EncryptFinal_ex(b->ctx, none, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(b->ctx, EVP_CTRL_GCM_GET_TAG, AUTH_BULK_SIZE, tag) == 1;
    if (!good)
        abort();
}
