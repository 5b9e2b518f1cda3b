/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ed25519, for the daemons only: EVP brings a provider with it, see docs/adr/0002. */
#include "auth/secret.h"

#include <errno.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/mem.h"

#define SEED_SIZE 32

struct auth_signer {
    EVP_PKEY *key;
    EVP_MD_CTX *md;
    uint8_t public_key[AUTH_CRED_KEY_SIZE];
};

/* Before the first use: without the site's openssl.cnf, the texts of errors and the lists of names,
 * none of which a signature needs, a node daemon is a tenth smaller. */
static void start_crypto(void)
{
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
                            OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS,
                        NULL);
}

static struct auth_signer *signer_from_seed(const uint8_t seed[SEED_SIZE])
{
    struct auth_signer *s = mem_new(struct auth_signer);
    size_t len = sizeof(s->public_key);

    start_crypto();
    s->md = EVP_MD_CTX_new();
    s->key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SEED_SIZE);
    if (!s->md || !s->key || EVP_PKEY_get_raw_public_key(s->key, s->public_key, &len) != 1 ||
        len != sizeof(s->public_key)) {
        auth_signer_free(s);
        return NULL;
    }
    return s;
}

int auth_signer_load(const char *path, uid_t owner, struct auth_signer **out, struct err *err)
{
    uint8_t seed[SEED_SIZE + 1];
    struct auth_signer *s = NULL;
    int len = auth_secret_read(path, owner, seed, sizeof(seed), err);

    if (len == -ENOENT) {
        int rc;
        auth_random(seed, SEED_SIZE);
        rc = auth_secret_create(path, owner, (gid_t)-1, seed, SEED_SIZE, err);
        len = rc < 0 ? rc : SEED_SIZE;
    }
    if (len >= 0 && len != SEED_SIZE)
        len = err_set(err, -ERR_CONFIG,
                      "%s: not a signing key (a key has %d bytes); remove it to have one made",
                      path, SEED_SIZE);
    else if (len >= 0)
        s = signer_from_seed(seed);
    mem_wipe(seed, sizeof(seed));
    if (len < 0)
        return len;
    if (!s)
        return err_set(err, -ERR_NOT_SUPPORTED, "%s: this OpenSSL does not offer Ed25519", path);
    *out = s;
    return 0;
}

void auth_signer_free(struct auth_signer *s)
{
    if (!s)
        return;
    EVP_MD_CTX_free(s->md);
    EVP_PKEY_free(s->key);
    free(s);
}

void auth_signer_public(const struct auth_signer *s, uint8_t public_key[AUTH_CRED_KEY_SIZE])
{
    for (size_t i = 0; i < AUTH_CRED_KEY_SIZE; i++)
        public_key[i] = s->public_key[i];
}

int auth_sign(struct auth_signer *s, const void *data, size_t len, uint8_t sig[AUTH_CRED_SIG_SIZE])
{
    size_t sig_len = AUTH_CRED_SIG_SIZE;

    EVP_MD_CTX_reset(s->md);
    if (EVP_DigestSignInit(s->md, NULL, NULL, NULL, s->key) != 1 ||
        EVP_DigestSign(s->md, sig, &sig_len, data, len) != 1 || sig_len != AUTH_CRED_SIG_SIZE)
        return -ERR_INTERNAL;
    return 0;
}

int auth_verify(const uint8_t public_key[AUTH_CRED_KEY_SIZE], const void *data, size_t len,
                const void *sig, size_t sig_len, struct err *err)
{
    EVP_PKEY *key;
    EVP_MD_CTX *md;
    int good = 0; /* what OpenSSL says: 1 is yes; 0 and negative are both no */

    if (sig_len != AUTH_CRED_SIG_SIZE)
        return err_set(err, -ERR_CREDENTIAL, "a credential's signature has %d bytes, not %zu",
                       AUTH_CRED_SIG_SIZE, sig_len);
    start_crypto();
    key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, AUTH_CRED_KEY_SIZE);
    md = EVP_MD_CTX_new();
    if (key && md && EVP_DigestVerifyInit(md, NULL, NULL, NULL, key) == 1)
        good = EVP_DigestVerify(md, sig, sig_len, data, len);
    EVP_MD_CTX_free(md);
    EVP_PKEY_free(key);
    if (good != 1)
        return err_set(
            err, -ERR_CREDENTIAL,
            "the credential was not signed by this cluster's controller, or was altered");
    return 0;
}
