/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Noise_NNpsk0_25519_ChaChaPoly_SHA256; names as in the specification, section 5. */
#include "auth/noise.h"

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"

static const char protocol[] = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

_Static_assert(AUTH_NOISE_DH_SIZE == crypto_scalarmult_BYTES, "X25519");
_Static_assert(AUTH_NOISE_TAG_SIZE == crypto_aead_chacha20poly1305_IETF_ABYTES, "Poly1305");
_Static_assert(AUTH_HASH_SIZE == crypto_aead_chacha20poly1305_IETF_KEYBYTES, "a hash is a key");

struct auth_noise {
    /* State of the handshake. */
    uint8_t ck[AUTH_HASH_SIZE], h[AUTH_HASH_SIZE], k[AUTH_HASH_SIZE];
    uint8_t secret[AUTH_NOISE_DH_SIZE]; /* our ephemeral key */
    /* State of the open channel. */
    uint8_t tx_key[AUTH_HASH_SIZE], rx_key[AUTH_HASH_SIZE];
    uint64_t tx_number, rx_number;
};

/* ENCRYPT() and DECRYPT() of section 4.2, with the nonces of section 12.3. */
struct nonce {
    uint8_t bytes[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];
};

static struct nonce nonce_of(uint64_t number)
{
    struct nonce n = {{0}};

    number = htole64(number);
    memcpy(n.bytes + sizeof(n.bytes) - sizeof(number), &number, sizeof(number));
    return n;
}

static void encrypt_bytes(const uint8_t key[AUTH_HASH_SIZE], uint64_t number, const uint8_t *ad,
                          size_t ad_len, const uint8_t *in, size_t len, uint8_t *out)
{
    const struct nonce nonce = nonce_of(number);

    crypto_aead_chacha20poly1305_ietf_encrypt(out, NULL, in, len, ad, ad_len, NULL, nonce.bytes,
                                              key);
}

static int decrypt_bytes(const uint8_t key[AUTH_HASH_SIZE], uint64_t number, const uint8_t *ad,
                         size_t ad_len, const uint8_t *in, size_t len, uint8_t *out)
{
    const struct nonce nonce = nonce_of(number);

    return crypto_aead_chacha20poly1305_ietf_decrypt(out, NULL, NULL, in, len, ad, ad_len,
                                                     nonce.bytes, key)
               ? -ERR_AUTH
               : 0;
}

void auth_noise_key_of(const struct auth_key *key, const uint8_t id[AUTH_NOISE_ID_SIZE],
                       struct auth_noise_key *out)
{
    /* No other use of the key begins with these bytes. */
    static const char label[] = "sluice channel key 1";

    if (id != out->id)
        memcpy(out->id, id, sizeof(out->id));
    auth_mac2(key, label, sizeof(label), out->id, sizeof(out->id), out->psk);
}

void auth_noise_key_make(const struct auth_key *key, struct auth_noise_key *out)
{
    auth_random(out->id, sizeof(out->id));
    auth_noise_key_of(key, out->id, out);
}

static void mix_hash(struct auth_noise *n, const void *data, size_t len)
{
    auth_hash2(n->h, sizeof(n->h), data, len, n->h);
}

static void hash_with_key(const uint8_t key[AUTH_HASH_SIZE], const void *a, size_t a_len,
                          uint8_t last, bool has_last, uint8_t out[AUTH_HASH_SIZE])
{
    struct auth_key k;

    memcpy(k.mac_key, key, sizeof(k.mac_key));
    auth_mac2(&k, a, a_len, &last, has_last, out);
    auth_key_done(&k);
}

/* HKDF of section 4.3: the new chaining key, and one or two more outputs. */
static void derive_keys(struct auth_noise *n, const void *input, size_t len,
                        uint8_t second[AUTH_HASH_SIZE], uint8_t *third)
{
    uint8_t temp[AUTH_HASH_SIZE];

    hash_with_key(n->ck, input, len, 0, false, temp);
    hash_with_key(temp, NULL, 0, 1, true, n->ck);
    hash_with_key(temp, n->ck, sizeof(n->ck), 2, true, second);
    if (third)
        hash_with_key(temp, second, AUTH_HASH_SIZE, 3, true, third);
    mem_wipe(temp, sizeof(temp));
}

static void mix_key(struct auth_noise *n, const uint8_t input[32])
{
    derive_keys(n, input, 32, n->k, NULL);
}

static void mix_key_and_hash(struct auth_noise *n, const uint8_t psk[AUTH_MAC_SIZE])
{
    uint8_t temp[AUTH_HASH_SIZE];

    derive_keys(n, psk, AUTH_MAC_SIZE, temp, n->k);
    mix_hash(n, temp, sizeof(temp));
    mem_wipe(temp, sizeof(temp));
}

/* EncryptAndHash() of an empty text: a tag. Each of the two messages has its own key, so the nonce
   is 0. */
static void put_tag(struct auth_noise *n, uint8_t tag[AUTH_NOISE_TAG_SIZE])
{
    encrypt_bytes(n->k, 0, n->h, sizeof(n->h), NULL, 0, tag);
    mix_hash(n, tag, AUTH_NOISE_TAG_SIZE);
}

static int check_tag(struct auth_noise *n, const uint8_t tag[AUTH_NOISE_TAG_SIZE])
{
    int rc = decrypt_bytes(n->k, 0, n->h, sizeof(n->h), tag, AUTH_NOISE_TAG_SIZE, NULL);

    mix_hash(n, tag, AUTH_NOISE_TAG_SIZE);
    return rc;
}

/* Mixes in the prologue, then handles the token psk. */
static struct auth_noise *start_handshake(const struct auth_noise_start *s)
{
    struct auth_noise *n = mem_new(struct auth_noise);

    auth_init();
    auth_hash(protocol, sizeof(protocol) - 1, n->h); /* longer than a hash: section 5.2 */
    memcpy(n->ck, n->h, sizeof(n->ck));
    mix_hash(n, s->prologue, s->prologue_len);
    mix_key_and_hash(n, s->psk);
    return n;
}

/* The token e, when sent and when received: with a psk it is also mixed into the key. */
static void send_e(struct auth_noise *n, const uint8_t *secret, uint8_t e[AUTH_NOISE_DH_SIZE])
{
    if (secret)
        memcpy(n->secret, secret, sizeof(n->secret));
    else
        auth_random(n->secret, sizeof(n->secret));
    crypto_scalarmult_base(e, n->secret);
    mix_hash(n, e, AUTH_NOISE_DH_SIZE);
    mix_key(n, e);
}

static void receive_e(struct auth_noise *n, const uint8_t e[AUTH_NOISE_DH_SIZE])
{
    mix_hash(n, e, AUTH_NOISE_DH_SIZE);
    mix_key(n, e);
}

/* -ERR_AUTH: the peer's key is a point of small order, which would make the shared secret
   known. */
static int mix_ee(struct auth_noise *n, const uint8_t e[AUTH_NOISE_DH_SIZE])
{
    uint8_t shared[AUTH_NOISE_DH_SIZE];
    int rc = crypto_scalarmult(shared, n->secret, e) ? -ERR_AUTH : 0;

    if (rc == 0)
        mix_key(n, shared);
    mem_wipe(shared, sizeof(shared));
    return rc;
}

static void split_keys(struct auth_noise *n, bool begins)
{
    uint8_t *there = begins ? n->tx_key : n->rx_key, *back = begins ? n->rx_key : n->tx_key;

    derive_keys(n, NULL, 0, back, NULL);
    memcpy(there, n->ck, sizeof(n->ck));
    mem_wipe(n->ck, sizeof(n->ck));
    mem_wipe(n->k, sizeof(n->k));
    mem_wipe(n->secret, sizeof(n->secret));
}

struct auth_noise *auth_noise_begin(const struct auth_noise_start *s,
                                    uint8_t first[AUTH_NOISE_MESSAGE_SIZE])
{
    struct auth_noise *n = start_handshake(s);

    send_e(n, s->secret, first);
    put_tag(n, first + AUTH_NOISE_DH_SIZE);
    return n;
}

int auth_noise_finish(struct auth_noise *n, const uint8_t second[AUTH_NOISE_MESSAGE_SIZE])
{
    int rc;

    receive_e(n, second);
    rc = mix_ee(n, second);
    if (rc == 0)
        rc = check_tag(n, second + AUTH_NOISE_DH_SIZE);
    if (rc == 0)
        split_keys(n, true);
    return rc;
}

struct auth_noise *auth_noise_answer(const struct auth_noise_start *s,
                                     const uint8_t first[AUTH_NOISE_MESSAGE_SIZE],
                                     uint8_t second[AUTH_NOISE_MESSAGE_SIZE])
{
    struct auth_noise *n = start_handshake(s);

    receive_e(n, first);
    if (check_tag(n, first + AUTH_NOISE_DH_SIZE) < 0)
        goto unknown;
    send_e(n, s->secret, second);
    if (mix_ee(n, first) < 0)
        goto unknown;
    put_tag(n, second + AUTH_NOISE_DH_SIZE);
    split_keys(n, false);
    return n;
unknown:
    auth_noise_free(n);
    return NULL;
}

void auth_noise_free(struct auth_noise *n)
{
    if (!n)
        return;
    mem_wipe(n, sizeof(*n));
    free(n);
}

/* The last nonce is reserved (section 5.1). No channel sends 2^64 records, but reusing a nonce
 * would reveal the key. */
void auth_noise_seal(struct auth_noise *n, const uint8_t *in, size_t len, uint8_t *out)
{
    assert(n->tx_number < UINT64_MAX);
    encrypt_bytes(n->tx_key, n->tx_number++, NULL, 0, in, len, out);
}

int auth_noise_open(struct auth_noise *n, const uint8_t *in, size_t len, uint8_t *out)
{
    int rc = n->rx_number < UINT64_MAX
                 ? decrypt_bytes(n->rx_key, n->rx_number, NULL, 0, in, len, out)
                 : -ERR_AUTH;

    if (rc == 0)
        n->rx_number++;
    return rc;
}
