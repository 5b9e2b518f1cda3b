/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An encrypted channel between two parties that share a key: the Noise protocol (noiseprotocol.org,
 * revision 34), Noise_NNpsk0_25519_ChaChaPoly_SHA256, with empty payloads in its two messages. Both
 * sides prove that they know the key. Recorded traffic stays secret if the key leaks later, because
 * every channel has ephemeral X25519 keys. The primitives are libsodium's. No sockets and no
 * frames. Why not TLS: docs/adr/0032.
 */
#pragma once

#include "auth/auth.h"

#define AUTH_NOISE_ID_SIZE 32      /* says which key is meant; anybody may see it */
#define AUTH_NOISE_DH_SIZE 32      /* an X25519 key, public or secret */
#define AUTH_NOISE_TAG_SIZE 16     /* of ChaCha20-Poly1305 */
#define AUTH_NOISE_MESSAGE_SIZE 48 /* both messages: an ephemeral public key and a tag */
#define AUTH_NOISE_MAX 65535       /* bytes of a message of an open channel, with its tag */

/* What a caller needs to begin: a name for a key, and the key. It serves as often as one likes. */
struct auth_noise_key {
    uint8_t id[AUTH_NOISE_ID_SIZE];
    uint8_t psk[AUTH_MAC_SIZE];
};
/* A new one: whoever knows the same 'key' can make psk of id, and nobody else. */
void auth_noise_key_make(const struct auth_key *key, struct auth_noise_key *out);
void auth_noise_key_of(const struct auth_key *key, const uint8_t id[AUTH_NOISE_ID_SIZE],
                       struct auth_noise_key *out);

struct auth_noise;
/* How one side begins. Both sides need the same psk and prologue: what was sent in clear before the
 * first message. secret: the ephemeral key, NULL for a new one (only test vectors name it). */
struct auth_noise_start {
    const uint8_t *psk; /* AUTH_MAC_SIZE */
    const void *prologue;
    size_t prologue_len;
    const uint8_t *secret;
};
/* The side that begins: makes the first message, takes the second (0 or -ERR_AUTH). */
struct auth_noise *auth_noise_begin(const struct auth_noise_start *s,
                                    uint8_t first[AUTH_NOISE_MESSAGE_SIZE]);
int auth_noise_finish(struct auth_noise *n, const uint8_t second[AUTH_NOISE_MESSAGE_SIZE]);
/* The other side: takes the first, makes the second. NULL: whoever sent it does not know the key.
 */
struct auth_noise *auth_noise_answer(const struct auth_noise_start *s,
                                     const uint8_t first[AUTH_NOISE_MESSAGE_SIZE],
                                     uint8_t second[AUTH_NOISE_MESSAGE_SIZE]);
void auth_noise_free(struct auth_noise *n);

/* Open: at most AUTH_NOISE_MAX less the tag at a time, in order, each once. 'out' may be 'in';
 * sealing adds the tag, opening removes it. auth_noise_open: 0 or -ERR_AUTH. */
void auth_noise_seal(struct auth_noise *n, const uint8_t *in, size_t len, uint8_t *out);
int auth_noise_open(struct auth_noise *n, const uint8_t *in, size_t len, uint8_t *out);
