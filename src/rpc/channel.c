/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/channel.h"

#include <string.h>

#include "base/mem.h"
#include "rpc/rpc.h"
#include "rpc/seal.h"

static bool encrypts = true;

struct rpc_channel {
    struct auth_noise *noise;
};

void rpc_set_encryption(bool on)
{
    encrypts = on;
}

bool rpc_encryption(void)
{
    return encrypts;
}

static struct rpc_channel *channel_new(struct auth_noise *noise)
{
    struct rpc_channel *ch = mem_new(struct rpc_channel);

    ch->noise = noise;
    return ch;
}

void rpc_channel_free(struct rpc_channel *ch)
{
    if (!ch)
        return;
    auth_noise_free(ch->noise);
    free(ch);
}

/* Header, key name and token of the hello are sent in clear text. They are the prologue of the
 * handshake, so both sides prove them, and an attacker cannot alter the version, a flag or a
 * claim. */
#define PROLOGUE_SIZE (RPC_HEADER_SIZE + AUTH_NOISE_ID_SIZE) /* without a token */

static struct auth_noise_start make_noise_start(const struct auth_noise_key *k, const void *hello,
                                                size_t jwt_len)
{
    return (struct auth_noise_start){
        .psk = k->psk, .prologue = hello, .prologue_len = PROLOGUE_SIZE + jwt_len};
}

struct rpc_channel *rpc_channel_call(const struct auth_noise_key *k, const struct auth_jwt *jwt,
                                     struct str *out)
{
    size_t jwt_len = jwt ? jwt->signed_len : 0;
    const struct rpc_header h = {
        .version = RPC_VERSION,
        .flags = RPC_FLAG_CHANNEL,
        .body_len = (uint32_t)(RPC_CHANNEL_HELLO_SIZE - RPC_HEADER_SIZE + jwt_len)};
    _cleanup_free_ uint8_t *hello = mem_alloc(RPC_CHANNEL_HELLO_SIZE + jwt_len);
    const struct auth_noise_start start = make_noise_start(k, hello, jwt_len);
    struct rpc_channel *ch;

    rpc_header_pack(&h, hello);
    memcpy(hello + RPC_HEADER_SIZE, k->id, sizeof(k->id));
    if (jwt)
        memcpy(hello + PROLOGUE_SIZE, jwt->signed_part, jwt_len);
    ch = channel_new(auth_noise_begin(&start, hello + PROLOGUE_SIZE + jwt_len));
    str_append(out, hello, RPC_CHANNEL_HELLO_SIZE + jwt_len);
    return ch;
}

static int refuse_unproven(struct err *err)
{
    return err_set(err, -ERR_UNPROVEN, "%s: another program listens there, or slurm.key differs",
                   err_text(ERR_UNPROVEN));
}

/* A refusal in clear text, which is not authenticated. It is accepted only if it is an error that
 * servers send to unauthenticated callers; anybody could forge it. */
static int take_refusal(const struct rpc_header *h, const uint8_t *data, size_t len,
                        struct err *err)
{
    const uint8_t *body = data + RPC_HEADER_SIZE;

    if (len < RPC_HEADER_SIZE + (size_t)h->body_len)
        return 0;
    if (!rpc_seal_is_to_a_stranger(h, body))
        return refuse_unproven(err);
    rpc_error_unpack(body, h->body_len, err);
    return err_prefix(err, "refused");
}

int rpc_channel_answered(struct rpc_channel *ch, const uint8_t *data, size_t len, struct err *err)
{
    struct rpc_header h;
    int rc;

    if (len < RPC_HEADER_SIZE)
        return 0;
    rc = rpc_header_unpack(data, RPC_BODY_MAX_ANON, &h, err);
    if (rc == -ERR_VERSION)
        return rc;
    if (rc < 0 || h.token_len)
        return refuse_unproven(err);
    if (h.flags & RPC_FLAG_ERROR)
        return take_refusal(&h, data, len, err);
    if (h.flags != (RPC_FLAG_CHANNEL | RPC_FLAG_REPLY) || h.body_len != AUTH_NOISE_MESSAGE_SIZE)
        return refuse_unproven(err);
    if (len < RPC_CHANNEL_REPLY_SIZE)
        return 0;
    if (auth_noise_finish(ch->noise, data + RPC_HEADER_SIZE) < 0)
        return refuse_unproven(err);
    return RPC_CHANNEL_REPLY_SIZE;
}

/* Derives the key from what the caller claims to know: the cluster key, or the signature of its
   token. */
static void derive_key(const struct rpc_channel_keys *keys, const uint8_t *id, size_t jwt_len,
                       struct auth_noise_key *k)
{
    uint8_t signature[AUTH_HASH_SIZE];
    struct auth_key secret;

    if (!jwt_len) {
        auth_noise_key_of(keys->cluster, id, k);
        return;
    }
    auth_jwt_sign(keys->jwt, id + AUTH_NOISE_ID_SIZE, jwt_len, signature);
    auth_jwt_secret(signature, &secret);
    auth_noise_key_of(&secret, id, k);
    mem_wipe(signature, sizeof(signature));
    auth_key_done(&secret);
}

/* Checks the header of the caller's first frame. */
static int check_hello(const struct rpc_channel_keys *keys, const struct rpc_header *h,
                       struct err *err)
{
    const uint32_t least = RPC_CHANNEL_HELLO_SIZE - RPC_HEADER_SIZE;

    if (!(h->flags & RPC_FLAG_CHANNEL))
        return err_set(err, -ERR_ACCESS,
                       "connections must be encrypted here: the caller's slurm.conf says "
                       "TLSType=none, or its version is older");
    if (h->flags != RPC_FLAG_CHANNEL || h->token_len || h->body_len < least)
        return err_set(err, -ERR_PROTOCOL, "malformed beginning of an encrypted connection");
    if (h->body_len > least && !keys->jwt)
        return err_set(err, -ERR_AUTH,
                       "JSON Web Tokens are not accepted here: set AuthAltTypes=auth/jwt in the "
                       "controller's slurm.conf and restart slurmctld, or unset SLURM_JWT");
    if (h->body_len > least + AUTH_JWT_MAX)
        return err_set(err, -ERR_TOO_BIG, "a JSON Web Token of %u bytes, at most %d are accepted",
                       h->body_len - least, AUTH_JWT_MAX);
    return 0;
}

int rpc_channel_accept(const struct rpc_channel_keys *keys, const uint8_t *data, size_t len,
                       struct rpc_channel_accepted *out, struct err *err)
{
    const struct rpc_header answer = {.version = RPC_VERSION,
                                      .flags = RPC_FLAG_CHANNEL | RPC_FLAG_REPLY,
                                      .body_len = AUTH_NOISE_MESSAGE_SIZE};
    struct auth_noise *noise;
    struct auth_noise_key k;
    struct rpc_header h;
    size_t jwt_len;
    int rc;

    if (len < RPC_HEADER_SIZE)
        return RPC_CHANNEL_MORE;
    rc = rpc_header_unpack(data, RPC_BODY_MAX, &h, err);
    if (rc < 0)
        return rc;
    if (!(h.flags & RPC_FLAG_CHANNEL) && !encrypts)
        return RPC_CHANNEL_PLAIN;
    rc = check_hello(keys, &h, err);
    if (rc < 0)
        return rc;
    if (len < RPC_HEADER_SIZE + h.body_len)
        return RPC_CHANNEL_MORE;
    jwt_len = h.body_len - (RPC_CHANNEL_HELLO_SIZE - RPC_HEADER_SIZE);
    derive_key(keys, data + RPC_HEADER_SIZE, jwt_len, &k);
    const struct auth_noise_start start = make_noise_start(&k, data, jwt_len);
    noise = auth_noise_answer(&start, data + PROLOGUE_SIZE + jwt_len, out->reply + RPC_HEADER_SIZE);
    mem_wipe(&k, sizeof(k));
    if (!noise && jwt_len)
        return err_set(err, -ERR_AUTH,
                       "the JSON Web Token is not signed with this cluster's key for HS256, or was "
                       "altered");
    if (!noise)
        return err_set(err, -ERR_AUTH,
                       "the caller does not know the key that is used here; slurm.key must be the "
                       "same on every host");
    rpc_header_pack(&answer, out->reply);
    out->channel = channel_new(noise);
    out->taken = RPC_CHANNEL_HELLO_SIZE + jwt_len;
    out->jwt = jwt_len ? data + PROLOGUE_SIZE : NULL;
    out->jwt_len = jwt_len;
    return RPC_CHANNEL_OPEN;
}

void rpc_channel_seal(struct rpc_channel *ch, const uint8_t *in, size_t len, uint8_t *out)
{
    while (len) {
        size_t n = len < RPC_CHANNEL_RECORD ? len : RPC_CHANNEL_RECORD;
        size_t sealed = n + AUTH_NOISE_TAG_SIZE;

        out[0] = (uint8_t)(sealed >> 8);
        out[1] = (uint8_t)sealed;
        auth_noise_seal(ch->noise, in, n, out + 2);
        in += n;
        len -= n;
        out += 2 + sealed;
    }
}

int rpc_channel_unseal(struct rpc_channel *ch, uint8_t *data, size_t len, size_t *plain,
                       struct err *err)
{
    size_t at = 0;

    *plain = 0;
    while (len - at >= 2) {
        uint8_t *record = data + at + 2;
        size_t sealed = (size_t)data[at] << 8 | data[at + 1];

        if (len - at - 2 < sealed)
            break;
        if (auth_noise_open(ch->noise, record, sealed, record) < 0)
            return err_set(err, -ERR_AUTH,
                           "the encrypted connection was altered on its way, or out of order");
        sealed -= AUTH_NOISE_TAG_SIZE;
        memmove(data + *plain, record, sealed);
        *plain += sealed;
        at += 2 + sealed + AUTH_NOISE_TAG_SIZE;
    }
    return (int)at;
}
