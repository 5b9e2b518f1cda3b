/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An encrypted channel between two parties that share a key: the Noise protocol
 * (noiseprotocol.org, revision 34), Noise_NNpsk0_25519_ChaChaPoly_SHA256, with empty payloads in
 * its two messages. Both sides prove that they know the key. Recorded traffic stays secret even if
 * the key leaks later, because every channel has ephemeral X25519 keys. The primitives are
 * libsodium's. No socket I/O and no frames. For the choice against TLS see docs/adr/0032.
 */
#pragma once

#include "auth/auth.h"

#define AUTH_NOISE_ID_SIZE 32  /* public name of a key */
#define AUTH_NOISE_DH_SIZE 32  /* a public or secret X25519 key */
#define AUTH_NOISE_TAG_SIZE 16 /* of ChaCha20-Poly1305 */
#define AUTH_NOISE_MESSAGE_SIZE                                                                    \
    48                       /* length of both messages: an ephemeral public key and a tag         \
                              */
#define AUTH_NOISE_MAX 65535 /* bytes of a message in an open channel, including its tag */

/* What a caller needs to begin: the name of a key, and the key. Reusable. */
struct auth_noise_key {
    uint8_t id[AUTH_NOISE_ID_SIZE];
    uint8_t psk[AUTH_MAC_SIZE];
};
/* Makes a new one: only a process that knows 'key' can compute psk from id. */
void auth_noise_key_make(const struct auth_key *key, struct auth_noise_key *out);
void auth_noise_key_of(const struct auth_key *key, const uint8_t id[AUTH_NOISE_ID_SIZE],
                       struct auth_noise_key *out);

struct auth_noise;
/* Parameters of one side. Both sides need the same psk and the same prologue, which is the data
 * sent in clear text before the first message. secret: the ephemeral key, or NULL for a new one
 * (set by test vectors only). */
struct auth_noise_start {
    const uint8_t *psk; /* of AUTH_MAC_SIZE bytes */
    const void *prologue;
    size_t prologue_len;
    const uint8_t *secret;
};
/* The initiator: makes the first message, reads the second (0 or -ERR_AUTH). */
struct auth_noise *auth_noise_begin(const struct auth_noise_start *s,
                                    uint8_t first[AUTH_NOISE_MESSAGE_SIZE]);
int auth_noise_finish(struct auth_noise *n, const uint8_t second[AUTH_NOISE_MESSAGE_SIZE]);
/* The responder: reads the first message, makes the second. NULL: the sender does not know the
   key. */
struct auth_noise *auth_noise_answer(const struct auth_noise_start *s,
                                     const uint8_t first[AUTH_NOISE_MESSAGE_SIZE],
                                     uint8_t second[AUTH_NOISE_MESSAGE_SIZE]);
void auth_noise_free(struct auth_noise *n);

/* For the open channel: at most AUTH_NOISE_MAX bytes including the tag per message, in order, each
 * once. 'out' may be 'in'; sealing adds the tag, opening removes it. auth_noise_open returns 0 or
 * -ERR_AUTH. */
void auth_noise_seal(struct auth_noise *n, const uint8_t *in, size_t len, uint8_t *out);
int auth_noise_open(struct auth_noise *n, const uint8_t *in, size_t len, uint8_t *out);
