/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ed25519 of libsodium, which also encrypts connections: docs/adr/0032. */
#include "auth/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"

#define SEED_SIZE 32

_Static_assert(SEED_SIZE == crypto_sign_SEEDBYTES, "Ed25519");
_Static_assert(AUTH_CRED_KEY_SIZE == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(AUTH_CRED_SIG_SIZE == crypto_sign_BYTES, "Ed25519");

struct auth_signer {
    uint8_t secret_key[crypto_sign_SECRETKEYBYTES]; /* the seed and the public key */
    uint8_t public_key[AUTH_CRED_KEY_SIZE];
};

void auth_init(void)
{
    if (sodium_init() < 0)
        abort(); /* no randomness is available */
}

static struct auth_signer *signer_from_seed(const uint8_t seed[SEED_SIZE])
{
    struct auth_signer *s = mem_new(struct auth_signer);

    auth_init();
    crypto_sign_seed_keypair(s->public_key, s->secret_key, seed);
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
    *out = s;
    return 0;
}

void auth_signer_free(struct auth_signer *s)
{
    if (!s)
        return;
    mem_wipe(s, sizeof(*s));
    free(s);
}

void auth_signer_public(const struct auth_signer *s, uint8_t public_key[AUTH_CRED_KEY_SIZE])
{
    memcpy(public_key, s->public_key, AUTH_CRED_KEY_SIZE);
}

void auth_sign(const struct auth_signer *s, const void *data, size_t len,
               uint8_t sig[AUTH_CRED_SIG_SIZE])
{
    crypto_sign_detached(sig, NULL, data, len, s->secret_key);
}

int auth_verify(const uint8_t public_key[AUTH_CRED_KEY_SIZE], const void *data, size_t len,
                const void *sig, size_t sig_len, struct err *err)
{
    if (sig_len != AUTH_CRED_SIG_SIZE)
        return err_set(err, -ERR_CREDENTIAL, "a credential's signature has %d bytes, not %zu",
                       AUTH_CRED_SIG_SIZE, sig_len);
    auth_init();
    if (crypto_sign_verify_detached(sig, data, len, public_key) != 0)
        return err_set(
            err, -ERR_CREDENTIAL,
            "the credential was not signed by this cluster's controller, or was altered");
    return 0;
}
