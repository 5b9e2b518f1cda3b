/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/seal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LABEL_SIZE 24

void rpc_hello_make(const char *name, struct rpc_hello *hello)
{
    memset(hello, 0, sizeof(*hello));
    auth_random(hello->nonce, sizeof(hello->nonce));
    memcpy(hello->name, name, strnlen(name, sizeof(hello->name) - 1));
}

int rpc_hello_check(const struct rpc_hello *hello, struct err *err)
{
    size_t len = strnlen(hello->name, sizeof(hello->name));
    bool good = len > 0 && len < sizeof(hello->name);

    for (size_t i = 0; i < len; i++)
        good = good && hello->name[i] > ' ' && hello->name[i] <= '~';
    for (size_t i = len; i < sizeof(hello->name); i++)
        good = good && hello->name[i] == '\0';
    return good ? 0 : err_set(err, -ERR_PROTOCOL, "malformed name of a session's peer");
}

/* Derives a key: MAC over label, version and both hellos. */
static void derive_key(const struct auth_key *key, const char *label,
                       const struct rpc_transcript *t, uint8_t out[AUTH_MAC_SIZE])
{
    struct {
        char label[LABEL_SIZE];
        uint64_t version;
    } prefix = {.version = htole64(RPC_VERSION)};

    memcpy(prefix.label, label, strnlen(label, LABEL_SIZE));
    auth_mac2(key, &prefix, sizeof(prefix), t, sizeof(*t), out);
}

void rpc_seal_proof(const struct auth_key *key, const struct rpc_transcript *t, bool connecting,
                    uint8_t proof[AUTH_MAC_SIZE])
{
    derive_key(key, connecting ? "sluice session caller" : "sluice session server", t, proof);
}

void rpc_seal_init(struct rpc_seal *s, const struct auth_key *key, const struct rpc_transcript *t,
                   bool connecting)
{
    struct auth_key there, back; /* for frames from the connecting side, and to it */

    derive_key(key, "sluice session key 1", t, there.mac_key);
    derive_key(key, "sluice session key 2", t, back.mac_key);
    *s = (struct rpc_seal){
        .tx_key = connecting ? there : back,
        .rx_key = connecting ? back : there,
        .tx_direction = connecting ? 1 : 2,
        .rx_direction = connecting ? 2 : 1,
    };
    auth_key_done(&there);
    auth_key_done(&back);
}

void rpc_seal_done(struct rpc_seal *s)
{
    auth_bulk_free(s->tx_bulk);
    auth_bulk_free(s->rx_bulk);
    mem_wipe(s, sizeof(*s));
}

/* Where no other process can have sent the bytes, the tag of a bulk body is zero. */
static void frame_mac(const struct auth_key *key, struct auth_bulk **bulk, bool is_protected,
                      uint8_t direction, uint64_t seq, const struct rpc_header *h, const void *body,
                      uint8_t mac[AUTH_MAC_SIZE])
{
    uint8_t prefix[1 + sizeof(seq) + RPC_HEADER_SIZE], tag[AUTH_BULK_SIZE] = {0};
    bool fast = h->flags & RPC_FLAG_BULK;
    uint64_t number = htole64(seq);

    prefix[0] = direction;
    memcpy(prefix + 1, &number, sizeof(number));
    rpc_header_pack(h, prefix + 1 + sizeof(number));
    if (fast && !is_protected) {
        if (!*bulk)
            *bulk = auth_bulk_new(key);
        auth_bulk_tag(*bulk, seq, body, h->body_len, tag);
    }
    auth_mac2(key, prefix, sizeof(prefix), fast ? tag : body, fast ? sizeof(tag) : h->body_len,
              mac);
}

void rpc_seal_sign(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                   uint8_t mac[AUTH_MAC_SIZE])
{
    frame_mac(&s->tx_key, &s->tx_bulk, s->is_protected, s->tx_direction, s->tx_seq++, h, body, mac);
}

int rpc_seal_check(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                   const uint8_t mac[AUTH_MAC_SIZE], struct err *err)
{
    uint8_t expected[AUTH_MAC_SIZE];

    frame_mac(&s->rx_key, &s->rx_bulk, s->is_protected, s->rx_direction, s->rx_seq, h, body,
              expected);
    if (!auth_equal(expected, mac, sizeof(expected)))
        return err_set(err, -ERR_AUTH,
                       "message %llu of the session is altered, repeated or out of order",
                       (unsigned long long)s->rx_seq);
    s->rx_seq++;
    return 0;
}

void rpc_minted_fill(struct rpc_minted *m, const struct auth_key *key)
{
    auth_answer_key(key, m->token, &m->answers);
    m->jwt.signed_part = NULL;
    auth_noise_key_make(key, &m->channel);
}

void rpc_minted_free(struct rpc_minted *m, size_t count)
{
    if (m)
        mem_wipe(m, count * sizeof(*m));
    free(m);
}

void rpc_seal_answers(struct rpc_seal *s, const struct auth_key *answers, bool asks)
{
    *s = (struct rpc_seal){.tx_key = *answers,
                           .rx_key = *answers,
                           .tx_direction = asks ? 4 : 3,
                           .rx_direction = asks ? 3 : 4};
}

/* The refusals that servers send to unauthenticated callers. An attacker in the server's place
 * could send them as well, but could also just close the connection. */
bool rpc_seal_is_to_a_stranger(const struct rpc_header *h, const void *body)
{
    static const int codes[] = {ERR_PROTOCOL, ERR_VERSION, ERR_TOO_BIG, ERR_AUTH,
                                ERR_REPLAY,   ERR_SKEW,    ERR_BUSY,    ERR_ACCESS};
    int code = h->flags & RPC_FLAG_ERROR ? -rpc_error_unpack(body, h->body_len, NULL) : 0;

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (code == codes[i])
            return true;
    return false;
}

int rpc_seal_check_answer(struct rpc_seal *s, const struct rpc_header *h, const void *body,
                          const void *token, struct err *err)
{
    if (!s || (h->token_len == 0 && rpc_seal_is_to_a_stranger(h, body)))
        return 0;
    if (h->token_len == AUTH_MAC_SIZE && rpc_seal_check(s, h, body, token, NULL) == 0)
        return 0;
    return err_set(
        err, -ERR_UNPROVEN,
        "%s: another program listens there, slurm.key differs, or the answer was altered",
        err_text(ERR_UNPROVEN));
}
