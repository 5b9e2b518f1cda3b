/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encryption of a TCP connection, below its frames. Private to src/rpc; does no socket I/O.
 *
 * The first bytes of the calling side are a frame with RPC_FLAG_CHANNEL, which has the name of a
 * key and the first message of auth/noise.h. The reply is a frame of the same kind with the second
 * message. Then both sides send records. A record is a two-byte big-endian length followed by that
 * number of encrypted bytes; the frames travel inside the records. A server that refuses the
 * channel replies with an error frame in clear text.
 *
 * A caller with a JSON Web Token (auth/jwt.h) sends the signed part of the token between the key
 * name and the first message. The key is derived from the signature, which is not sent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "auth/jwt.h"
#include "auth/noise.h"
#include "base/str.h"
#include "rpc/frame.h"

/* The hello of a caller without a token. */
#define RPC_CHANNEL_HELLO_SIZE (RPC_HEADER_SIZE + AUTH_NOISE_ID_SIZE + AUTH_NOISE_MESSAGE_SIZE)
#define RPC_CHANNEL_REPLY_SIZE (RPC_HEADER_SIZE + AUTH_NOISE_MESSAGE_SIZE)
#define RPC_CHANNEL_RECORD 16384u /* plain bytes per record that we send */
#define RPC_CHANNEL_OVERHEAD (2 + AUTH_NOISE_TAG_SIZE)

struct rpc_channel;
void rpc_channel_free(struct rpc_channel *ch);

/* Returns the size in records of len plain bytes. */
static inline size_t rpc_channel_sealed_size(size_t len)
{
    return len + (len + RPC_CHANNEL_RECORD - 1) / RPC_CHANNEL_RECORD * RPC_CHANNEL_OVERHEAD;
}

/* Calling side: appends the hello to be sent. jwt is the token that k was derived from, or
   NULL. */
struct rpc_channel *rpc_channel_call(const struct auth_noise_key *k, const struct auth_jwt *jwt,
                                     struct str *out);
/* Parses the received part of the reply. Returns 0 if more bytes are needed, or the number of
 * bytes consumed when the channel is open. Returns the error of a server that refuses, or
 * -ERR_UNPROVEN. */
int rpc_channel_answered(struct rpc_channel *ch, const uint8_t *data, size_t len, struct err *err);

/* The keys that a caller may prove. */
struct rpc_channel_keys {
    const struct auth_key *cluster;
    const struct auth_jwt_key *jwt; /* NULL: no tokens are accepted */
};
struct rpc_channel_accepted {
    struct rpc_channel *channel;
    size_t taken;                          /* bytes consumed of the caller's input */
    uint8_t reply[RPC_CHANNEL_REPLY_SIZE]; /* to be sent */
    /* The signed part of the token that the caller has proved; NULL: the caller has proved the
       cluster key. */
    const uint8_t *jwt;
    size_t jwt_len;
};

/* Accepting side: parses the received part of the caller's first frame. Negative: the frame is
 * refused with an error frame in clear text. */
enum rpc_channel_first {
    RPC_CHANNEL_MORE,  /* more bytes are needed */
    RPC_CHANNEL_OPEN,  /* *out is filled */
    RPC_CHANNEL_PLAIN, /* the frame is in clear text, and the server accepts such frames */
};
int rpc_channel_accept(const struct rpc_channel_keys *keys, const uint8_t *data, size_t len,
                       struct rpc_channel_accepted *out, struct err *err);

/* Open channel: encrypts len bytes into records of rpc_channel_sealed_size(len) bytes at out. */
void rpc_channel_seal(struct rpc_channel *ch, const uint8_t *in, size_t len, uint8_t *out);
/* Decrypts all complete records in place. Afterwards the first *plain bytes are plain text, and
 * unconsumed input is still at its old position. Returns the number of bytes consumed, or
 * -ERR_AUTH. */
int rpc_channel_unseal(struct rpc_channel *ch, uint8_t *data, size_t len, size_t *plain,
                       struct err *err);
