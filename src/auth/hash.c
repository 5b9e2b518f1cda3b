/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hashes and MACs of single parts, comparison, randomness, and the MAC key. */
#include "auth/auth.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

void auth_hash(const void *data, size_t len, uint8_t hash[AUTH_HASH_SIZE])
{
    auth_hash2(data, len, NULL, 0, hash);
}

void auth_mac(const struct auth_key *key, const void *data, size_t len, uint8_t mac[AUTH_MAC_SIZE])
{
    auth_mac2(key, data, len, NULL, 0, mac);
}

int auth_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *x = a, *y = b;
    unsigned diff = 0;

    for (size_t i = 0; i < len; i++)
        diff |= x[i] ^ y[i];
    return diff == 0;
}

void auth_random(void *out, size_t len)
{
    uint8_t *p = out;

    while (len) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            abort(); /* a predictable nonce or key would be worse than no daemon */
        p += n;
        len -= (size_t)n;
    }
}

void auth_key_from_bytes(const void *secret, size_t len, struct auth_key *key)
{
    static const char label[] = "sluice mac key 1";

    auth_hash2(label, sizeof(label), secret, len, key->mac_key);
}

void auth_key_done(struct auth_key *key)
{
    mem_wipe(key, sizeof(*key));
}
