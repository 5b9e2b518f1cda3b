/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: a JSON Web Token. The first byte selects:
 *
 *   0  a token as a user has it
 *   1  the signed part of a token whose signature was verified
 *   2  the same, with header and claims before base64url encoding, separated by a NUL
 *   3  the first bytes of a connection to a controller that accepts tokens: never authenticated
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auth/jwt.h"
#include "rpc/channel.h"
#include "rpc/rpc.h"

#define NOW_MS INT64_C(1795000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void split_token(const uint8_t *data, size_t size)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct auth_jwt jwt;
    struct err err = {0};
    str_append(&text, data, size);
    int rc = auth_jwt_split(str_cstr(&text), &jwt, &err);
    require(rc == 0 || (rc < 0 && err.code == rc));
    require(rc != 0 || jwt.signed_len <= AUTH_JWT_MAX);
}

static void read_claims(const void *data, size_t size)
{
    struct auth_jwt_claims claims = {0};
    struct err err = {0};
    int rc = auth_jwt_read(data, size, NULL, NOW_MS, &claims, &err);
    require(rc == 0 || (rc < 0 && err.code == rc && !claims.user[0]));
    if (rc)
        return;
    require(claims.expires_at * 1000 > NOW_MS);
    for (const char *s = claims.user; *s; s++)
        require(*s > ' ' && *s <= '~');
}

static void encode_and_read(const uint8_t *data, size_t size)
{
    const uint8_t *nul = memchr(data, 0, size);
    _cleanup_str_ struct str text = STR_INIT;
    if (!nul)
        return;
    auth_base64url_put(data, (size_t)(nul - data), &text);
    str_putc(&text, '.');
    auth_base64url_put(nul + 1, size - (size_t)(nul + 1 - data), &text);
    read_claims(text.data, text.len);
}

static void begin_connection(const uint8_t *data, size_t size)
{
    static const struct auth_key cluster = {"a key"};
    static const struct auth_jwt_key jwt = {"another key"};
    const struct rpc_channel_keys keys = {.cluster = &cluster, .jwt = &jwt};
    struct rpc_channel_accepted accepted;
    struct err err = {0};
    rpc_set_encryption(true);
    int rc = rpc_channel_accept(&keys, data, size, &accepted, &err);
    require(rc == RPC_CHANNEL_MORE || (rc < 0 && err.code));
    require(rc != RPC_CHANNEL_MORE || size < RPC_CHANNEL_HELLO_SIZE + AUTH_JWT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const hows[])(const uint8_t *, size_t) = {split_token, NULL, encode_and_read,
                                                            begin_connection};
    if (size < 1 || data[0] > 3)
        return 0;
    if (data[0] == 1)
        read_claims(data + 1, size - 1);
    else
        hows[data[0]](data + 1, size - 1);
    return 0;
}
