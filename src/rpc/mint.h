/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens from a daemon on this host, inside this room. */
#pragma once

#include "conf/conf.h"
#include "rpc/wire.h"

/* Whom to trust behind a local socket besides root: SlurmUser and SlurmdUser. */
#define RPC_TRUSTED_COUNT 2
void rpc_trusted_uids(const struct conf *conf, uid_t uids[RPC_TRUSTED_COUNT]);

/* Connects to the daemon's local socket of this name (conf_socket_node(), conf_socket_controller())
 * in the first of conf's directories where one of these uids listens. err is about the first
 * directory that has the socket. */
int rpc_open_here(const struct conf *conf, const char *name, struct rpc_wire *w,
                  int64_t deadline_ms, struct err *err);

/* The JSON Web Token that requests of this process to controllers are made with, from SLURM_JWT in
 * the environment; NULL: there is none. */
const char *rpc_jwt(void);

/* What a request to a controller needs where it goes: over a local socket nothing (*made NULL);
 * over TCP the key of its connection when there is rpc_jwt(), else a token for header and body, and
 * the keys of its connection and answers. Sets the length of the token in the header. The caller
 * frees *made. */
int rpc_vouch(const struct conf *conf, bool is_local, struct rpc_header *h, const void *body,
              int64_t deadline_ms, struct rpc_minted **made, struct err *err);

/* One for each audience, in order, from the first daemon of this host that answers; in few calls,
 * however many they are. The caller frees *made. */
int rpc_mint(const struct conf *conf, const uint8_t hash[AUTH_HASH_SIZE],
             const char *const *audiences, size_t count, int64_t deadline_ms,
             struct rpc_minted **made, struct err *err);
