/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Proofs, keys and MACs of sessions. Private to src/rpc; does no socket I/O.
 *
 * Handshake: the connecting side sends a random number and its name. The accepting side replies
 * with its own random number, its name, and a proof that it knows the key. The connecting side
 * sends the same proof. Proofs and session keys are MACs over both random numbers, both names and
 * the version. Each has its own label, so that none can replace another or be replayed.
 *
 * Replies to a request over TCP have MACs under a key derived from the request's token. The
 * receiver accepts them in order, each once, and only from a peer that knows the cluster key.
 */
#pragma once

#include <stdbool.h>

#include "auth/jwt.h"
#include "auth/noise.h"
#include "rpc/frame.h"

#define RPC_SESSION_NONCE_SIZE 32
#define RPC_SESSION_NAME_SIZE (AUTH_NAME_MAX + 1) /* padded with NULs */

/* Frame 1, sent with RPC_FLAG_SESSION, rpc 0, id 1. */
struct rpc_hello {
    uint8_t nonce[RPC_SESSION_NONCE_SIZE];
    char name[RPC_SESSION_NAME_SIZE];
};
/* Frame 2, the reply, sent with RPC_FLAG_REPLY as well. */
struct rpc_hello_reply {
    struct rpc_hello hello;
    uint8_t proof[AUTH_MAC_SIZE];
};
/* Frame 3 is a proof alone, with id 2. */

void rpc_hello_make(const char *name, struct rpc_hello *hello);
/* Checks that the name is well-formed. */
int rpc_hello_check(const struct rpc_hello *hello, struct err *err);

struct rpc_transcript {
    struct rpc_hello connecting, accepting;
};

void rpc_seal_proof(const struct auth_key *key, const struct rpc_transcript *t, bool connecting,
                    uint8_t proof[AUTH_MAC_SIZE]);

struct rpc_seal {
    struct auth_key tx_key, rx_key;
    struct auth_bulk *tx_bulk, *rx_bulk; /* allocated for the first bulk frame */
    uint64_t tx_seq, rx_seq;
    uint8_t tx_direction, rx_direction;
    /* The channel or the kernel protects the connection: bodies with RPC_FLAG_BULK get no tag. */
    bool is_protected;
};

void rpc_seal_init(struct rpc_seal *s, const struct auth_key *key, const struct rpc_transcript *t,
                   bool connecting);
void rpc_seal_done(struct rpc_seal *s);

/* Makes the token of the next frame to be sent, by the fast method if the header has
   RPC_FLAG_BULK. */
void rpc_seal_sign(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                   uint8_t mac[AUTH_MAC_SIZE]);

/* Checks the next received frame. Returns 0, or -ERR_AUTH if the frame is altered, repeated, out
 * of sequence, or not from the peer. */
int rpc_seal_check(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                   const uint8_t mac[AUTH_MAC_SIZE], struct err *err);

/* The credentials of one request over TCP: its token, the key of its replies, and the key of its
 * connection. With a JSON Web Token only the key of the connection is set: the connection proves
 * the user, and requests and replies have no further proofs. */
struct rpc_minted {
    uint8_t token[AUTH_TOKEN_SIZE];
    struct auth_key answers;
    struct auth_noise_key channel;
    struct auth_jwt jwt; /* signed_part NULL: there is none */
};
static inline const struct auth_jwt *rpc_minted_jwt(const struct rpc_minted *m)
{
    return m->jwt.signed_part ? &m->jwt : NULL;
}
/* Fills in the fields derived from the token, in a daemon that knows the cluster key. */
void rpc_minted_fill(struct rpc_minted *m, const struct auth_key *key);
void rpc_minted_free(struct rpc_minted *m, size_t count); /* wipes the keys; m may be NULL */

/* Seals the replies to one request and the frames that its caller sends later. asks: true on the
   caller's side. */
void rpc_seal_answers(struct rpc_seal *s, const struct auth_key *answers, bool asks);

/* Whether a frame is a refusal that servers send to unauthenticated callers. Such a refusal proves
 * nothing. */
bool rpc_seal_is_to_a_stranger(const struct rpc_header *h, const void *body);

/* Checks that a reply comes from the intended peer. Returns 0 or -ERR_UNPROVEN. A server that
 * refuses a request before it has checked the token cannot prove itself, so such a refusal is
 * accepted unauthenticated. s NULL: a local socket, whose peer the kernel identifies. */
int rpc_seal_check_answer(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                          const void *token, struct err *err);
