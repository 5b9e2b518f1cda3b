/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The variant of crypto_low.c for builds with -Dfips=true: it uses the providers of OpenSSL, see
 * docs/adr/0047.
 */
#include <endian.h>
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "auth/auth.h"
#include "base/mem.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;
static EVP_MAC *hmac;

/* Uses the default properties: openssl.cnf selects the FIPS provider. */
static void fetch_algorithms(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (!sha256 || !hmac)
        abort(); /* no provider in openssl.cnf has them, so nothing could be authenticated */
}

static void update_hash(EVP_MD_CTX *ctx, const void *data, size_t len)
{
    if (len && EVP_DigestUpdate(ctx, data, len) != 1)
        abort();
}

void auth_hash2(const void *a, size_t a_len, const void *b, size_t b_len,
                uint8_t hash[AUTH_HASH_SIZE])
{
    pthread_once(&once, fetch_algorithms);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (!ctx || EVP_DigestInit_ex2(ctx, sha256, NULL) != 1)
        abort(); /* out of memory, as in mem.h, or the provider's self-test failed */
    update_hash(ctx, a, a_len);
    update_hash(ctx, b, b_len);
    if (EVP_DigestFinal_ex(ctx, hash, NULL) != 1)
        abort();
    EVP_MD_CTX_free(ctx);
}

static void update_mac(EVP_MAC_CTX *ctx, const void *data, size_t len)
{
    if (len && EVP_MAC_update(ctx, data, len) != 1)
        abort();
}

void auth_mac2(const struct auth_key *key, const void *a, size_t a_len, const void *b, size_t b_len,
               uint8_t mac[AUTH_MAC_SIZE])
{
    OSSL_PARAM digest[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end()};
    size_t len = 0;

    pthread_once(&once, fetch_algorithms);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac);
    if (!ctx || EVP_MAC_init(ctx, key->mac_key, sizeof(key->mac_key), digest) != 1)
        abort();
    update_mac(ctx, a, a_len);
    update_mac(ctx, b, b_len);
    if (EVP_MAC_final(ctx, mac, &len, AUTH_MAC_SIZE) != 1 || len != AUTH_MAC_SIZE)
        abort();
    EVP_MAC_CTX_free(ctx); /* wipes it */
}

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
