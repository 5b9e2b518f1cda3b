/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An encrypted channel between two that know a key: the Noise protocol (noiseprotocol.org, revision
 * 34), Noise_NNpsk0_25519_AESGCM_SHA256, with empty payloads in its two messages. Both sides prove
 * that they know the key, and what is said afterwards stays secret when the key is lost later. No
 * sockets and no frames. Why not TLS: docs/adr/0032.
 */
#pragma once

#include "auth/auth.h"

#define AUTH_X25519_SIZE 32
/* out may be one of the others. -ERR_AUTH: the point is of small order, and out zero. */
int auth_x25519(uint8_t out[AUTH_X25519_SIZE], const uint8_t scalar[AUTH_X25519_SIZE],
                const uint8_t point[AUTH_X25519_SIZE]);
void auth_x25519_base(uint8_t out[AUTH_X25519_SIZE], const uint8_t scalar[AUTH_X25519_SIZE]);

/* AES-256-GCM with the nonces of Noise: a number that serves once under a key. */
#define AUTH_AEAD_KEY_SIZE 32
#define AUTH_AEAD_TAG_SIZE 16
struct auth_aead;
struct auth_aead *auth_aead_new(const uint8_t key[AUTH_AEAD_KEY_SIZE]);
void auth_aead_free(struct auth_aead *a);
/* out has room for len bytes and the tag, and may be 'in'. */
void auth_aead_seal(struct auth_aead *a, uint64_t number, const void *ad, size_t ad_len,
                    const uint8_t *in, size_t len, uint8_t *out);
/* len: with the tag. out has room for the rest, and may be 'in'. 0 or -ERR_AUTH. */
int auth_aead_open(struct auth_aead *a, uint64_t number, const void *ad, size_t ad_len,
                   const uint8_t *in, size_t len, uint8_t *out);

#define AUTH_NOISE_ID_SIZE 32      /* says which key is meant; anybody may see it */
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
/* How one side begins. Both have the same psk and prologue; secret: the ephemeral key, NULL for a
 * new one (only test vectors name it). */
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

/* Open: at most AUTH_NOISE_MAX less the tag at a time, in order, each once. */
void auth_noise_seal(struct auth_noise *n, const uint8_t *in, size_t len, uint8_t *out);
int auth_noise_open(struct auth_noise *n, const uint8_t *in, size_t len, uint8_t *out);
