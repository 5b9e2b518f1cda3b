/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The form and the signature of a token; nothing here reads what a token says. */
#include "auth/jwt.h"

#include <string.h>

#include <sodium.h>

#include "auth/secret.h"
#include "base/mem.h"
#include "base/timefmt.h"

void auth_base64url_put(const void *data, size_t len, struct str *out)
{
    size_t room = sodium_base64_encoded_len(len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);

    str_reserve(out, room);
    sodium_bin2base64(out->data + out->len, room, data, len,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    out->len += room - 1; /* without the NUL */
}

int auth_base64url_take(const char *text, size_t len, uint8_t *out)
{
    size_t n;
    int rc = sodium_base642bin(out, len * 3 / 4, text, len, NULL, &n, NULL,
                               sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return rc == 0 ? (int)n : -ERR_AUTH;
}

void auth_jwt_key_from_bytes(const void *secret, size_t len, struct auth_jwt_key *key)
{
    memset(key, 0, sizeof(*key));
    if (len > sizeof(key->block))
        auth_hash(secret, len, key->block);
    else
        memcpy(key->block, secret, len);
}

int auth_jwt_key_load(const char *path, uid_t owner, struct auth_jwt_key *key, struct err *err)
{
    uint8_t secret[AUTH_KEY_MAX + 1];
    int len = auth_secret_read_key(path, owner, secret, err);

    if (len > 0)
        auth_jwt_key_from_bytes(secret, (size_t)len, key);
    mem_wipe(secret, sizeof(secret));
    return len < 0 ? len : 0;
}

void auth_jwt_key_done(struct auth_jwt_key *key)
{
    mem_wipe(key, sizeof(*key));
}

/* HMAC by RFC 2104: struct auth_key has 32 bytes, and a key file may have more. */
void auth_jwt_sign(const struct auth_jwt_key *key, const void *signed_part, size_t len,
                   uint8_t signature[AUTH_HASH_SIZE])
{
    uint8_t inner[sizeof(key->block)], outer[sizeof(key->block)];

    for (size_t i = 0; i < sizeof(key->block); i++) {
        inner[i] = key->block[i] ^ 0x36;
        outer[i] = key->block[i] ^ 0x5c;
    }
    auth_hash2(inner, sizeof(inner), signed_part, len, signature);
    auth_hash2(outer, sizeof(outer), signature, AUTH_HASH_SIZE, signature);
    mem_wipe(inner, sizeof(inner));
    mem_wipe(outer, sizeof(outer));
}

int auth_jwt_split(const char *token, struct auth_jwt *out, struct err *err)
{
    const char *first = strchr(token, '.'), *last = strrchr(token, '.');
    uint8_t signature[AUTH_HASH_SIZE + 1];
    size_t len;

    if (!first || first == last || strchr(first + 1, '.') != last)
        return err_set(err, -ERR_AUTH,
                       "not a JSON Web Token: it must have three parts separated by dots");
    if ((size_t)(last - token) > AUTH_JWT_MAX)
        return err_set(err, -ERR_TOO_BIG, "the JSON Web Token has more than %d bytes",
                       AUTH_JWT_MAX);
    len = strlen(last + 1);
    /* 43 digits are 32 bytes, as HS256 makes them. */
    if (len != 43 || auth_base64url_take(last + 1, len, signature) != AUTH_HASH_SIZE)
        return err_set(err, -ERR_AUTH,
                       "the JSON Web Token is not signed with HS256: its signature must have 32 "
                       "bytes in base64url");
    out->signed_part = token;
    out->signed_len = (size_t)(last - token);
    memcpy(out->signature, signature, AUTH_HASH_SIZE);
    mem_wipe(signature, sizeof(signature));
    return 0;
}

void auth_jwt_secret(const uint8_t signature[AUTH_HASH_SIZE], struct auth_key *secret)
{
    static const char label[] = "sluice connection of a JSON Web Token";
    struct auth_key key;

    auth_key_from_bytes(signature, AUTH_HASH_SIZE, &key);
    auth_mac(&key, label, sizeof(label), secret->mac_key);
    auth_key_done(&key);
}

static int refuse_time(const struct auth_jwt_claims *claims, const char *what, int64_t at,
                       int64_t now_ms, struct err *err)
{
    char then[TIME_TEXT_MAX], now[TIME_TEXT_MAX];

    return err_set(err, -ERR_SKEW,
                   "the JSON Web Token of user '%s' %s %sZ, it is %sZ here; use a new one, or "
                   "synchronise the clocks",
                   claims->user, what, time_format_utc(at, then),
                   time_format_utc(now_ms / 1000, now));
}

int auth_jwt_check_time(const struct auth_jwt_claims *claims, int64_t now_ms, struct err *err)
{
    if (claims->starts_at * 1000 > now_ms + AUTH_SKEW_MS)
        return refuse_time(claims, "is not valid before", claims->starts_at, now_ms, err);
    if (claims->expires_at * 1000 <= now_ms)
        return refuse_time(claims, "has expired at", claims->expires_at, now_ms, err);
    return 0;
}
