/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encryption of a connection over TCP, below its frames; inside this room. No sockets.
 *
 * The caller's first bytes are a frame with RPC_FLAG_CHANNEL: the name of a key and the first
 * message of auth/noise.h; the answer is another one, with the second message. Then both sides send
 * records: the length of the rest in two bytes, big-endian, and so much of an open channel, in
 * which the frames are. A server that refuses answers with a frame in clear that carries an error.
 *
 * A caller with a JSON Web Token (auth/jwt.h) puts what is signed of the token between the name of
 * the key and the first message. The key follows from the signature, which is not sent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "auth/jwt.h"
#include "auth/noise.h"
#include "base/str.h"
#include "rpc/frame.h"

/* Of a caller without a token. */
#define RPC_CHANNEL_HELLO_SIZE (RPC_HEADER_SIZE + AUTH_NOISE_ID_SIZE + AUTH_NOISE_MESSAGE_SIZE)
#define RPC_CHANNEL_REPLY_SIZE (RPC_HEADER_SIZE + AUTH_NOISE_MESSAGE_SIZE)
#define RPC_CHANNEL_RECORD 16384u /* bytes in a record that we send */
#define RPC_CHANNEL_OVERHEAD (2 + AUTH_NOISE_TAG_SIZE)

struct rpc_channel;
void rpc_channel_free(struct rpc_channel *ch);

/* Bytes of so many in records. */
static inline size_t rpc_channel_sealed_size(size_t len)
{
    return len + (len + RPC_CHANNEL_RECORD - 1) / RPC_CHANNEL_RECORD * RPC_CHANNEL_OVERHEAD;
}

/* The calling side: appends its hello. jwt: NULL, or a token that k was made of. */
struct rpc_channel *rpc_channel_call(const struct auth_noise_key *k, const struct auth_jwt *jwt,
                                     struct str *out);
/* What has come of the answer: 0: too little; more: it took so many bytes, and the channel is open;
 * negative: the error of a server that refuses, or -ERR_UNPROVEN. */
int rpc_channel_answered(struct rpc_channel *ch, const uint8_t *data, size_t len, struct err *err);

/* What callers prove. */
struct rpc_channel_keys {
    const struct auth_key *cluster;
    const struct auth_jwt_key *jwt; /* NULL: no tokens are accepted */
};
struct rpc_channel_accepted {
    struct rpc_channel *channel;
    size_t taken;                          /* bytes of the caller */
    uint8_t reply[RPC_CHANNEL_REPLY_SIZE]; /* to be sent */
    const uint8_t *jwt; /* what is signed of the token that the caller has proved; NULL: the caller
                           has proved the cluster key */
    size_t jwt_len;
};

/* The accepting side: what has come of the caller's first frame. Negative: it is refused, with a
 * frame in clear. */
enum rpc_channel_first {
    RPC_CHANNEL_MORE,  /* too little */
    RPC_CHANNEL_OPEN,  /* *out is filled */
    RPC_CHANNEL_PLAIN, /* it is a frame in clear, and such are taken here */
};
int rpc_channel_accept(const struct rpc_channel_keys *keys, const uint8_t *data, size_t len,
                       struct rpc_channel_accepted *out, struct err *err);

/* Open: records of so many bytes, which take rpc_channel_sealed_size(len) at out. */
void rpc_channel_seal(struct rpc_channel *ch, const uint8_t *in, size_t len, uint8_t *out);
/* Opens all records that are complete, in their place: *plain bytes are at the beginning then, and
 * what was not taken is where it was. Returns how many bytes it took, or -ERR_AUTH. */
int rpc_channel_unseal(struct rpc_channel *ch, uint8_t *data, size_t len, size_t *plain,
                       struct err *err);
