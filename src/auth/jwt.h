/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON Web Tokens (RFC 7519) that are signed with HS256 (RFC 7515, RFC 7518), as
 * AuthAltTypes=auth/jwt accepts them. A token is "HEADER.CLAIMS.SIGNATURE" in base64url; the
 * signature is an HMAC-SHA256 of the first two parts.
 *
 * The signature is never sent. A command sends the first two parts in clear, and a controller that
 * has the key file makes the signature of them, so that both know it and nobody else does: it is
 * the secret of their encrypted connection (rpc/channel.h). Thus the claims are read after the
 * caller has proved the signature, and the algorithm that the header names never selects how a
 * token is checked.
 */
#pragma once

#include "auth/auth.h"
#include "base/str.h"

#define AUTH_JWT_MAX 8192          /* bytes of a token without its signature */
#define AUTH_JWT_USER_MAX 255      /* bytes of a user's name */
#define AUTH_JWT_LIFESPAN_SEC 1800 /* of a token for which scontrol token names no lifespan */
/* Seconds since 1970, the end of the year 9999: the expiry of a token that does not expire. */
#define AUTH_JWT_FOREVER 253402300799LL

/* The signing key, as HMAC uses it. Wiped by auth_jwt_key_done(). */
struct auth_jwt_key {
    uint8_t block[64];
};
/* Any bytes, 32 or more of them (RFC 7518). Checks mode and owner as auth_key_load() does. */
int auth_jwt_key_load(const char *path, uid_t owner, struct auth_jwt_key *key, struct err *err);
void auth_jwt_key_from_bytes(const void *secret, size_t len, struct auth_jwt_key *key);
void auth_jwt_key_done(struct auth_jwt_key *key);

void auth_jwt_sign(const struct auth_jwt_key *key, const void *signed_part, size_t len,
                   uint8_t signature[AUTH_HASH_SIZE]);

/* A token as its user has it. */
struct auth_jwt {
    const char *signed_part; /* "HEADER.CLAIMS"; borrowed */
    size_t signed_len;
    uint8_t signature[AUTH_HASH_SIZE];
};
/* -ERR_AUTH: it is malformed, or not signed with HS256. The text does not contain the token. */
int auth_jwt_split(const char *token, struct auth_jwt *out, struct err *err);

/* What both sides of a connection derive its key from. */
void auth_jwt_secret(const uint8_t signature[AUTH_HASH_SIZE], struct auth_key *secret);

/* What a token says, once its signature has been proved. */
struct auth_jwt_claims {
    char user[AUTH_JWT_USER_MAX + 1];
    int64_t starts_at, expires_at; /* seconds, wall clock; the later one of "iat" and "nbf" */
};
/* Whether it is valid now: 0 or -ERR_SKEW. */
int auth_jwt_check_time(const struct auth_jwt_claims *claims, int64_t now_ms, struct err *err);
/* user_claim: the claim that names the user; NULL: "sun", or "username" without it. -ERR_AUTH: not
 * HS256, malformed, or a claim is missing; -ERR_SKEW: expired, or from the future. */
int auth_jwt_read(const void *signed_part, size_t len, const char *user_claim, int64_t now_ms,
                  struct auth_jwt_claims *out, struct err *err);

/* Appends a token that expires at that time. -ERR_RANGE: auth_jwt_read() would refuse the user
 * name. user_claim: printable ASCII, or NULL for "sun". */
int auth_jwt_make(const struct auth_jwt_key *key, const char *user_claim, const char *user,
                  int64_t now_sec, int64_t expires_at, struct str *out, struct err *err);

/* base64url without padding (RFC 4648, section 5), inside this room. */
void auth_base64url_put(const void *data, size_t len, struct str *out);
/* The number of bytes at out, which has room for len * 3 / 4; -ERR_AUTH: not base64url, or bits are
 * set beyond the last byte. */
int auth_base64url_take(const char *text, size_t len, uint8_t *out);
