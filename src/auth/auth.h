/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Authentication of callers, and job credentials.
 *
 * The cluster key (slurm.key beside slurm.conf: at least 32 bytes, mode 0600, owned by root or
 * SlurmUser) is known to the daemons only. A token states for a short time that "uid, gid on host
 * asks audience this (hash)", and has a MAC under that key. The local daemon mints it on a UNIX
 * socket for the user given by SO_PEERCRED, so no command is set-uid or has the key. A job
 * credential is signed by the controller's Ed25519 key; node daemons verify it without contacting
 * any other process.
 *
 * Every check returns 0 for a valid object only; every other value is a refusal whose text gives
 * the reason (clock skew shows both times).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define AUTH_KEY_MAX 4096
/* The command that creates a key file, as a format with its path: "%s". */
#define AUTH_KEY_COMMAND "dd if=/dev/urandom of=%s bs=64 count=1"
#define AUTH_MAC_SIZE 32
#define AUTH_HASH_SIZE 32
#define AUTH_NONCE_SIZE 16
#define AUTH_TOKEN_SIZE 256 /* fixed */
#define AUTH_NAME_MAX 63    /* bytes of a host or audience name in a token */
#define AUTH_TTL_MS 60000   /* lifetime of a token unless AuthInfo=ttl=... is set */
#define AUTH_SKEW_MS                                                                               \
    10000 /* a token from the future by more than this is refused for clock skew                   \
           */
#define AUTH_CRED_KEY_SIZE 32
#define AUTH_CRED_SIG_SIZE 64

/* Selects the implementation of the cryptography for this processor, once: 10 us in a virtual
 * machine. Functions that need it call it; a process whose children will need it calls it first. */
void auth_init(void);

/* The cluster key, hashed to MAC keys. auth_key_done() wipes it. */
struct auth_key {
    uint8_t mac_key[32];
};
int auth_key_load(const char *path, uid_t owner, struct auth_key *key,
                  struct err *err); /* checks mode and owner */
int auth_key_create(const char *path, uid_t owner, gid_t group,
                    struct err *err); /* creates a random key; fails if the file exists */
void auth_key_from_bytes(const void *secret, size_t len,
                         struct auth_key *key); /* for I/O keys of steps */
void auth_key_done(struct auth_key *key);

struct auth_identity {
    uid_t uid;
    gid_t gid;
    char host[AUTH_NAME_MAX + 1];
};

void auth_hash(const void *data, size_t len, uint8_t hash[AUTH_HASH_SIZE]);
void auth_hash2(const void *a, size_t a_len, const void *b, size_t b_len,
                uint8_t hash[AUTH_HASH_SIZE]);
void auth_mac(const struct auth_key *key, const void *data, size_t len, uint8_t mac[AUTH_MAC_SIZE]);
void auth_mac2(const struct auth_key *key, const void *a, size_t a_len, const void *b, size_t b_len,
               uint8_t mac[AUTH_MAC_SIZE]);

/* A MAC for large data, four times as fast: GMAC under a key derived from this one. It is not
 * sufficient by itself: each number may be used only once, and an attacker who sees tags must not
 * be able to choose the data. The tag is therefore included in a MAC instead of the data. */
#define AUTH_BULK_SIZE 16
struct auth_bulk;
struct auth_bulk *auth_bulk_new(const struct auth_key *key);
void auth_bulk_free(struct auth_bulk *b);
void auth_bulk_tag(struct auth_bulk *b, uint64_t number, const void *data, size_t len,
                   uint8_t tag[AUTH_BULK_SIZE]);

int auth_equal(const void *a, const void *b, size_t len); /* returns 1 or 0, in constant time */
void auth_random(void *out, size_t len);

/* Tokens. 'audience' is "slurmctld" or a node name; now_ms is the wall clock. */
void auth_token_mint(const struct auth_key *key, const struct auth_identity *who,
                     const char *audience, const uint8_t body_hash[AUTH_HASH_SIZE], int64_t now_ms,
                     int64_t ttl_ms, uint8_t token[AUTH_TOKEN_SIZE]);

/* Derives the key for the replies to a token's message: only a process that knows the cluster key,
 * or that got the key with the token, can compute it. Works for any bytes, also for an unchecked
 * token. */
void auth_answer_key(const struct auth_key *key, const uint8_t token[AUTH_TOKEN_SIZE],
                     struct auth_key *answers);

/* The same for a token that this user got for this audience, of any age: a secret that both ends
 * can compute, but not an observer of the token. -ERR_AUTH. */
int auth_secret_of(const struct auth_key *key, const void *token, size_t len, const char *audience,
                   uid_t uid, struct auth_key *secret, struct err *err);

/* A node daemon's statement, for the audience of the token, that the token's request first came
 * from that address. The user who got the token cannot forge it. */
void auth_origin_seal(const struct auth_key *key, const uint8_t token[AUTH_TOKEN_SIZE],
                      const char *origin, uint8_t seal[AUTH_MAC_SIZE]);

/* Remembers accepted nonces until their tokens expire. Limited in size: a user holds at most as
 * many entries as are free for all others, and a part is reserved for root and admin_uid. */
struct auth_replay;
struct auth_replay *auth_replay_new(size_t max, uid_t admin_uid);
void auth_replay_free(struct auth_replay *r);

/* Checks a token: -ERR_AUTH, -ERR_SKEW, -ERR_REPLAY. who is filled in on success only. Tokens
 * minted before 'not_before_ms' (start of the checking daemon minus the skew; 0: any) are refused
 * as replays, because a restart loses the memory of used tokens. The function remembers nothing:
 * call auth_token_use() before the request is handled, after all other checks, above all of the
 * rate limit. */
int auth_token_check(const struct auth_key *key, const void *token, size_t len,
                     const char *audience, const uint8_t body_hash[AUTH_HASH_SIZE], int64_t now_ms,
                     int64_t not_before_ms, const struct auth_replay *replay,
                     struct auth_identity *who, struct err *err);

/* Marks a token that auth_token_check() has accepted as used. -ERR_REPLAY, or -ERR_BUSY: too many
 * unexpired tokens of its user, or in total. */
int auth_token_use(const uint8_t token[AUTH_TOKEN_SIZE], int64_t now_ms, struct auth_replay *replay,
                   struct err *err);

/* All checks except that of the message: whether the message should be read. Remembers nothing and
 * establishes no identity: *payer is the user for whom the token was minted, to whom the message
 * is accounted while it is read; anybody who has seen the token may have sent it. Call
 * auth_token_check() afterwards. */
int auth_token_precheck(const struct auth_key *key, const void *token, size_t len,
                        const char *audience, int64_t now_ms, int64_t not_before_ms, uid_t *payer,
                        struct err *err);

/* Job credentials. */
struct auth_signer; /* the controller's private key */
int auth_signer_load(const char *path, uid_t owner, struct auth_signer **out,
                     struct err *err); /* creates the key if it is missing */
void auth_signer_free(struct auth_signer *s);
void auth_signer_public(const struct auth_signer *s, uint8_t public_key[AUTH_CRED_KEY_SIZE]);
void auth_sign(const struct auth_signer *s, const void *data, size_t len,
               uint8_t sig[AUTH_CRED_SIG_SIZE]);
/* Returns 0 or -ERR_CREDENTIAL. */
int auth_verify(const uint8_t public_key[AUTH_CRED_KEY_SIZE], const void *data, size_t len,
                const void *sig, size_t sig_len, struct err *err);

/* The identity of the peer of a connected UNIX socket. */
int auth_peer(int fd, struct auth_identity *who, struct err *err);
