/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The arithmetic of sessions, inside this room: proofs, keys and MACs. No sockets.
 *
 * Handshake: the connecting side sends its random number and name; the other answers with its own
 * and a proof that it knows the key; the first one proves the same. Proofs and session keys are
 * MACs over both numbers, both names and the version, each under a label of its own, so that none
 * can stand for another, and none can be used twice.
 *
 * Answers to a request over TCP are MACs under a key that follows from its token: in order, each
 * once, and of nobody who does not know the cluster key.
 */
#pragma once

#include <stdbool.h>

#include "auth/jwt.h"
#include "auth/noise.h"
#include "rpc/frame.h"

#define RPC_SESSION_NONCE_SIZE 32
#define RPC_SESSION_NAME_SIZE (AUTH_NAME_MAX + 1) /* with NULs up to the end */

/* Frame 1, with RPC_FLAG_SESSION, rpc 0, id 1. */
struct rpc_hello {
    uint8_t nonce[RPC_SESSION_NONCE_SIZE];
    char name[RPC_SESSION_NAME_SIZE];
};
/* Frame 2, the other way, with RPC_FLAG_REPLY too. */
struct rpc_hello_reply {
    struct rpc_hello hello;
    uint8_t proof[AUTH_MAC_SIZE];
};
/* Frame 3: a proof alone, id 2. */

void rpc_hello_make(const char *name, struct rpc_hello *hello);
int rpc_hello_check(const struct rpc_hello *hello, struct err *err); /* the name is well-formed */

struct rpc_transcript {
    struct rpc_hello connecting, accepting;
};

void rpc_seal_proof(const struct auth_key *key, const struct rpc_transcript *t, bool connecting,
                    uint8_t proof[AUTH_MAC_SIZE]);

struct rpc_seal {
    struct auth_key tx_key, rx_key;
    struct auth_bulk *tx_bulk, *rx_bulk; /* when the first such frame is there */
    uint64_t tx_seq, rx_seq;
    uint8_t tx_direction, rx_direction;
    bool is_protected; /* by a channel below, or by the kernel: bodies of RPC_FLAG_BULK get no tag
                          of their own */
};

void rpc_seal_init(struct rpc_seal *s, const struct auth_key *key, const struct rpc_transcript *t,
                   bool connecting);
void rpc_seal_done(struct rpc_seal *s);

/* The token of the next frame to be sent; with RPC_FLAG_BULK in its header the fast way. */
void rpc_seal_sign(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                   uint8_t mac[AUTH_MAC_SIZE]);

/* The next frame that came: 0, or -ERR_AUTH for one that is altered, repeated, lost before, or from
 * elsewhere. */
int rpc_seal_check(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                   const uint8_t mac[AUTH_MAC_SIZE], struct err *err);

/* What one request over TCP needs: its token, the key of the answers to it, and the key of the
 * connection that it goes by. With a JSON Web Token that is the key of the connection alone: the
 * connection is the user's, and its requests and answers carry no proofs of their own. */
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
/* The rest of what belongs to the token, by a daemon that knows the cluster key. */
void rpc_minted_fill(struct rpc_minted *m, const struct auth_key *key);
void rpc_minted_free(struct rpc_minted *m, size_t count); /* wipes the keys; m may be NULL */

/* Of the answers to one request, and of what its caller sends after it. asks: the caller's side. */
void rpc_seal_answers(struct rpc_seal *s, const struct auth_key *answers, bool asks);

/* Whether it is a refusal as servers give to callers that have proved nothing, and prove nothing
 * themselves by it. */
bool rpc_seal_is_to_a_stranger(const struct rpc_header *h, const void *body);

/* Whether an answer is from who was asked: 0, or -ERR_UNPROVEN. A server that refuses a request
 * before it has checked the token proves nothing: such a refusal passes, for what it is. s NULL:
 * over a local socket, whose peer the kernel names. */
int rpc_seal_check_answer(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                          const void *token, struct err *err);
