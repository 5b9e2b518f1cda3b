/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tokens. Little-endian, every byte under the MAC:
 *
 *   0 magic "SLTK" | 4 version u16 | 6 zero u16 | 8 uid u32 | 12 gid u32 | 16 minted at (wall ms)
 * i64 24 life ms i64 | 32 nonce 16 | 48 body hash 32 | 80 host 64 | 144 audience 64 | 208 zero 16
 *   224 MAC 32
 */
#include "auth/auth.h"
#include "auth/replay.h"

#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/timefmt.h"

#define TOKEN_VERSION 1
#define TOKEN_TTL_MAX_MS 3600000
#define NAME_SIZE (AUTH_NAME_MAX + 1)

enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_UID = 8,
    AT_GID = 12,
    AT_TIME = 16,
    AT_TTL = 24,
    AT_NONCE = 32,
    AT_HASH = 48,
    AT_HOST = 80,
    AT_AUDIENCE = 144,
    AT_ZERO = 208,
    AT_MAC = 224,
};
_Static_assert(AT_MAC + AUTH_MAC_SIZE == AUTH_TOKEN_SIZE, "the MAC ends the token");
_Static_assert(AT_HOST + NAME_SIZE == AT_AUDIENCE && AT_AUDIENCE + NAME_SIZE == AT_ZERO,
               "names fill their fields");

static const char magic[4] = {'S', 'L', 'T', 'K'};

static void put16(uint8_t *at, uint16_t v)
{
    v = htole16(v);
    memcpy(at, &v, sizeof(v));
}
static void put32(uint8_t *at, uint32_t v)
{
    v = htole32(v);
    memcpy(at, &v, sizeof(v));
}
static void put64(uint8_t *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof(v));
}
static uint16_t get16(const uint8_t *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof(v));
    return le16toh(v);
}
static uint32_t get32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof(v));
    return le32toh(v);
}
static uint64_t get64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return le64toh(v);
}

void auth_token_mint(const struct auth_key *key, const struct auth_identity *who,
                     const char *audience, const uint8_t body_hash[AUTH_HASH_SIZE], int64_t now_ms,
                     int64_t ttl_ms, uint8_t token[AUTH_TOKEN_SIZE])
{
    memset(token, 0, AUTH_TOKEN_SIZE);
    memcpy(token + AT_MAGIC, magic, sizeof(magic));
    put16(token + AT_VERSION, TOKEN_VERSION);
    put32(token + AT_UID, who->uid);
    put32(token + AT_GID, who->gid);
    put64(token + AT_TIME, (uint64_t)now_ms);
    put64(token + AT_TTL, (uint64_t)(ttl_ms > TOKEN_TTL_MAX_MS ? TOKEN_TTL_MAX_MS : ttl_ms));
    auth_random(token + AT_NONCE, AUTH_NONCE_SIZE);
    memcpy(token + AT_HASH, body_hash, AUTH_HASH_SIZE);
    /* A truncated name matches no audience, so the token is refused. */
    memcpy(token + AT_HOST, who->host, strnlen(who->host, AUTH_NAME_MAX));
    memcpy(token + AT_AUDIENCE, audience, strnlen(audience, AUTH_NAME_MAX));
    auth_mac(key, token, AT_MAC, token + AT_MAC);
}

void auth_answer_key(const struct auth_key *key, const uint8_t token[AUTH_TOKEN_SIZE],
                     struct auth_key *answers)
{
    static const char label[] = "sluice answers to a token"; /* no token begins so */

    auth_mac2(key, label, sizeof(label), token, AUTH_TOKEN_SIZE, answers->mac_key);
}

void auth_origin_seal(const struct auth_key *key, const uint8_t token[AUTH_TOKEN_SIZE],
                      const char *origin, uint8_t seal[AUTH_MAC_SIZE])
{
    static const char label[] = "sluice origin of a token"; /* no token begins so */
    uint8_t hash[AUTH_HASH_SIZE], message[sizeof(label) + AUTH_HASH_SIZE];

    auth_hash(origin, strlen(origin), hash);
    memcpy(message, label, sizeof(label));
    memcpy(message + sizeof(label), hash, sizeof(hash));
    auth_mac2(key, message, sizeof(message), token, AUTH_TOKEN_SIZE, seal);
}

/* Checks that it is printable, not empty, NUL-terminated, and followed by NULs only. */
static bool name_is_good(const uint8_t *field)
{
    size_t len = strnlen((const char *)field, NAME_SIZE);

    if (len == 0 || len == NAME_SIZE)
        return false;
    for (size_t i = 0; i < len; i++)
        if (field[i] <= ' ' || field[i] > '~')
            return false;
    for (size_t i = len; i < NAME_SIZE; i++)
        if (field[i])
            return false;
    return true;
}

static void format_clock(int64_t wall_ms, char out[40])
{
    char sec[TIME_TEXT_MAX];

    snprintf(out, 40, "%s.%03dZ", time_format_utc(wall_ms / 1000, sec),
             (int)(wall_ms % 1000 < 0 ? 0 : wall_ms % 1000));
}

static int refuse_time(const uint8_t *t, int64_t minted_at, int64_t ttl, int64_t now_ms,
                       struct err *err)
{
    char theirs[40], ours[40];

    format_clock(minted_at, theirs);
    format_clock(now_ms, ours);
    if (minted_at > now_ms)
        return err_set(err, -ERR_SKEW,
                       "clock skew: the token was made at %s by the clock of %s, it is %s here; "
                       "synchronise the clocks",
                       theirs, (const char *)t + AT_HOST, ours);
    return err_set(err, -ERR_SKEW,
                   "the token has expired: made at %s by the clock of %s for %" PRId64
                   " s, it is %s here; if it is new, synchronise the clocks",
                   theirs, (const char *)t + AT_HOST, ttl / 1000, ours);
}

/* All checks that need neither body nor clock. */
static int check_form(const struct auth_key *key, const uint8_t *t, size_t len,
                      const char *audience, struct err *err)
{
    static const uint8_t zero[AT_MAC - AT_ZERO];
    uint8_t mac[AUTH_MAC_SIZE];

    if (len != AUTH_TOKEN_SIZE)
        return err_set(err, -ERR_AUTH, "a token has %d bytes, not %zu", AUTH_TOKEN_SIZE, len);
    if (memcmp(t + AT_MAGIC, magic, sizeof(magic)) != 0)
        return err_set(err, -ERR_AUTH, "not a token");
    if (get16(t + AT_VERSION) != TOKEN_VERSION)
        return err_set(err, -ERR_AUTH, "token of version %u, version %d is understood here",
                       get16(t + AT_VERSION), TOKEN_VERSION);
    auth_mac(key, t, AT_MAC, mac);
    if (!auth_equal(mac, t + AT_MAC, sizeof(mac)))
        return err_set(err, -ERR_AUTH,
                       "the token was not made under this cluster's key, or was "
                       "altered; slurm.key must be the same on every host");
    if (get16(t + 6) != 0 || memcmp(t + AT_ZERO, zero, sizeof(zero)) != 0 ||
        !name_is_good(t + AT_HOST) || !name_is_good(t + AT_AUDIENCE))
        return err_set(err, -ERR_AUTH, "malformed token");
    if (strcmp((const char *)t + AT_AUDIENCE, audience) != 0)
        return err_set(err, -ERR_AUTH, "the token is for \"%s\", this is \"%s\"",
                       (const char *)t + AT_AUDIENCE, audience);
    return 0;
}

/* All checks that do not need the body. */
static int check_sealed(const struct auth_key *key, const uint8_t *t, size_t len,
                        const char *audience, int64_t now_ms, int64_t not_before_ms,
                        struct err *err)
{
    int64_t minted_at, ttl;
    int rc = check_form(key, t, len, audience, err);

    if (rc < 0)
        return rc;
    minted_at = (int64_t)get64(t + AT_TIME);
    ttl = (int64_t)get64(t + AT_TTL);
    if (ttl <= 0 || ttl > TOKEN_TTL_MAX_MS || minted_at < 0 || minted_at > INT64_MAX / 2)
        return err_set(err, -ERR_AUTH, "the token's life is out of range");
    if (minted_at > now_ms + AUTH_SKEW_MS || minted_at + ttl <= now_ms)
        return refuse_time(t, minted_at, ttl, now_ms, err);
    if (minted_at < not_before_ms)
        return err_set(err, -ERR_REPLAY,
                       "the token was made before this daemon started; try again");
    return 0;
}

int auth_secret_of(const struct auth_key *key, const void *token, size_t len, const char *audience,
                   uid_t uid, struct auth_key *secret, struct err *err)
{
    int rc = check_form(key, token, len, audience, err);

    if (rc == 0 && get32((const uint8_t *)token + AT_UID) != uid)
        rc = err_set(err, -ERR_AUTH, "the token is of another user");
    if (rc == 0)
        auth_answer_key(key, token, secret);
    return rc;
}

int auth_token_precheck(const struct auth_key *key, const void *token, size_t len,
                        const char *audience, int64_t now_ms, int64_t not_before_ms, uid_t *payer,
                        struct err *err)
{
    int rc = check_sealed(key, token, len, audience, now_ms, not_before_ms, err);

    if (rc == 0)
        *payer = get32((const uint8_t *)token + AT_UID);
    return rc;
}

int auth_token_check(const struct auth_key *key, const void *token, size_t len,
                     const char *audience, const uint8_t body_hash[AUTH_HASH_SIZE], int64_t now_ms,
                     int64_t not_before_ms, const struct auth_replay *replay,
                     struct auth_identity *who, struct err *err)
{
    const uint8_t *t = token;
    int rc = check_sealed(key, t, len, audience, now_ms, not_before_ms, err);

    if (rc < 0)
        return rc;
    if (!auth_equal(t + AT_HASH, body_hash, AUTH_HASH_SIZE))
        return err_set(err, -ERR_AUTH, "the token was made for another message");
    if (replay && auth_replay_has(replay, t + AT_NONCE))
        return err_set(err, -ERR_REPLAY, "replayed: this token was used before");
    memset(who, 0, sizeof(*who));
    who->uid = get32(t + AT_UID);
    who->gid = get32(t + AT_GID);
    memcpy(who->host, t + AT_HOST, sizeof(who->host));
    return 0;
}

int auth_token_use(const uint8_t token[AUTH_TOKEN_SIZE], int64_t now_ms, struct auth_replay *replay,
                   struct err *err)
{
    return auth_replay_add(replay, token + AT_NONCE, get32(token + AT_UID),
                           (int64_t)get64(token + AT_TIME), (int64_t)get64(token + AT_TTL), now_ms,
                           err);
}
