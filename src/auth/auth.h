/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who is calling, and what may run.
 *
 * The cluster key (slurm.key beside slurm.conf: 32 or more bytes, mode 0600, owned by root or
 * SlurmUser) is known to the daemons only. A token says "uid, gid on host asks audience this
 * (hash)" for a short time, sealed with a MAC under that key; the local daemon mints it on a UNIX
 * socket for the user that SO_PEERCRED names, so no command is set-uid or sees the key. A job
 * credential is signed by the controller's Ed25519 key and checked by node daemons without asking
 * anyone.
 *
 * Every check returns 0 only for "good"; everything else is a refusal whose text says why (a skewed
 * clock prints both).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define AUTH_KEY_MAX 4096
/* The command that makes a key file, with its path: "%s". */
#define AUTH_KEY_COMMAND "dd if=/dev/urandom of=%s bs=64 count=1"
#define AUTH_MAC_SIZE 32
#define AUTH_HASH_SIZE 32
#define AUTH_NONCE_SIZE 16
#define AUTH_TOKEN_SIZE 256 /* fixed */
#define AUTH_NAME_MAX 63    /* bytes of a host or an audience in a token */
#define AUTH_TTL_MS 60000   /* life of a token unless AuthInfo=ttl=... */
#define AUTH_SKEW_MS                                                                               \
    10000 /* a token from the future by more than this is refused for clock skew                   \
           */
#define AUTH_CRED_KEY_SIZE 32
#define AUTH_CRED_SIG_SIZE 64

/* Chooses the code of the cryptography for this processor: 10 us in a virtual machine, once. What
 * needs it calls it; a process whose children will need it calls it before them. */
void auth_init(void);

/* The cluster key, spread by a hash to MAC keys. Wiped by auth_key_done(). */
struct auth_key {
    uint8_t mac_key[32];
};
int auth_key_load(const char *path, uid_t owner, struct auth_key *key,
                  struct err *err); /* checks mode and owner */
int auth_key_create(const char *path, uid_t owner, gid_t group,
                    struct err *err); /* random; fails if it exists */
void auth_key_from_bytes(const void *secret, size_t len,
                         struct auth_key *key); /* I/O keys of steps */
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

/* Of much data, four times as fast: GMAC under a key that follows from this one. It says nothing
 * alone: a number serves once, and who sees tags must not see tags of a guess of his. So a tag goes
 * into a MAC in place of the data. */
#define AUTH_BULK_SIZE 16
struct auth_bulk;
struct auth_bulk *auth_bulk_new(const struct auth_key *key);
void auth_bulk_free(struct auth_bulk *b);
void auth_bulk_tag(struct auth_bulk *b, uint64_t number, const void *data, size_t len,
                   uint8_t tag[AUTH_BULK_SIZE]);

int auth_equal(const void *a, const void *b, size_t len); /* 1 or 0, in constant time */
void auth_random(void *out, size_t len);

/* Tokens. 'audience' is "slurmctld" or a node name; now_ms is the wall clock. */
void auth_token_mint(const struct auth_key *key, const struct auth_identity *who,
                     const char *audience, const uint8_t body_hash[AUTH_HASH_SIZE], int64_t now_ms,
                     int64_t ttl_ms, uint8_t token[AUTH_TOKEN_SIZE]);

/* The key for the answers to the message of a token: whoever can say it knows the cluster key, or
 * got it with the token. Of any bytes, so also of a token that was not checked. */
void auth_answer_key(const struct auth_key *key, const uint8_t token[AUTH_TOKEN_SIZE],
                     struct auth_key *answers);

/* The same, of a token that this user got for this audience, however old: a secret that both ends
 * can make, and who only sees the token cannot. -ERR_AUTH. */
int auth_secret_of(const struct auth_key *key, const void *token, size_t len, const char *audience,
                   uid_t uid, struct auth_key *secret, struct err *err);

/* A node daemon's word, for the one that the token is for: its request was first taken from that
 * address. Whoever got the token from a daemon cannot make this of it. */
void auth_origin_seal(const struct auth_key *key, const uint8_t token[AUTH_TOKEN_SIZE],
                      const char *origin, uint8_t seal[AUTH_MAC_SIZE]);

/* Remembers accepted nonces until their tokens expire. Bounded: a user holds at most as many
 * entries as are free for all others, and a part is reserved for root and admin_uid. */
struct auth_replay;
struct auth_replay *auth_replay_new(size_t max, uid_t admin_uid);
void auth_replay_free(struct auth_replay *r);

/* -ERR_AUTH, -ERR_SKEW, -ERR_REPLAY. who is filled on success only. Tokens minted before
 * 'not_before_ms' (start of the checking daemon, less the skew; 0: any) are refused as replays, so
 * a restart forgets nothing. Remembers nothing: auth_token_use() must follow before the request is
 * handled, when it was not refused for another reason, its rate above all. */
int auth_token_check(const struct auth_key *key, const void *token, size_t len,
                     const char *audience, const uint8_t body_hash[AUTH_HASH_SIZE], int64_t now_ms,
                     int64_t not_before_ms, const struct auth_replay *replay,
                     struct auth_identity *who, struct err *err);

/* Uses up a token that auth_token_check() found good. -ERR_REPLAY, or -ERR_BUSY: too many live
 * tokens of its user, or of all. */
int auth_token_use(const uint8_t token[AUTH_TOKEN_SIZE], int64_t now_ms, struct auth_replay *replay,
                   struct err *err);

/* All of the above but the message: whether it is worth reading one for this token. Remembers
 * nothing, and gives no identity: *payer is who asked for the token, to count the message as theirs
 * while it is read, and whoever has seen the token may have sent it. auth_token_check() must
 * follow. */
int auth_token_precheck(const struct auth_key *key, const void *token, size_t len,
                        const char *audience, int64_t now_ms, int64_t not_before_ms, uid_t *payer,
                        struct err *err);

/* Job credentials. */
struct auth_signer; /* the controller's private key */
int auth_signer_load(const char *path, uid_t owner, struct auth_signer **out,
                     struct err *err); /* made if absent */
void auth_signer_free(struct auth_signer *s);
void auth_signer_public(const struct auth_signer *s, uint8_t public_key[AUTH_CRED_KEY_SIZE]);
void auth_sign(const struct auth_signer *s, const void *data, size_t len,
               uint8_t sig[AUTH_CRED_SIG_SIZE]);
int auth_verify(const uint8_t public_key[AUTH_CRED_KEY_SIZE], const void *data, size_t len,
                const void *sig, size_t sig_len, struct err *err); /* 0 or -ERR_CREDENTIAL */

/* The caller on the other end of a connected UNIX socket. */
int auth_peer(int fd, struct auth_identity *who, struct err *err);
