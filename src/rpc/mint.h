/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens from a daemon on this host, inside this room. */
#pragma once

#include "conf/conf.h"
#include "rpc/wire.h"

/* Whom to trust behind a local socket besides root: SlurmUser and SlurmdUser. */
#define RPC_TRUSTED_COUNT 2
void rpc_trusted_uids(const struct conf *conf, uid_t uids[RPC_TRUSTED_COUNT]);

/* One token per audience, in order, from the first daemon in socket_dir that answers; in few calls,
 * however many they are. The caller frees *tokens. */
int rpc_mint(const struct conf *conf, const uint8_t hash[AUTH_HASH_SIZE],
             const char *const *audiences, size_t count, int64_t deadline_ms,
             uint8_t (**tokens)[AUTH_TOKEN_SIZE], struct err *err);
