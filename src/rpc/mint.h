/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mints tokens through a daemon on this host. Private to src/rpc. */
#pragma once

#include "conf/conf.h"
#include "rpc/wire.h"

/* The users besides root that are trusted as owners of a local socket: SlurmUser and
   SlurmdUser. */
#define RPC_TRUSTED_COUNT 2
void rpc_trusted_uids(const struct conf *conf, uid_t uids[RPC_TRUSTED_COUNT]);

/* Connects to the daemon's local socket with this name (conf_socket_node(),
 * conf_socket_controller()) in the first of conf's directories where a process of one of these
 * uids listens. err describes the first directory that has the socket. */
int rpc_open_here(const struct conf *conf, const char *name, struct rpc_wire *w,
                  int64_t deadline_ms, struct err *err);

/* Returns the JSON Web Token of this process for requests to controllers, from SLURM_JWT in the
 * environment; NULL: there is none. */
const char *rpc_jwt(void);

/* Makes the credentials of a request to a controller. Over a local socket none are needed (*made
 * is NULL). Over TCP: with rpc_jwt(), the key of the connection; otherwise a token for header and
 * body, and the keys of connection and replies. Sets the token length in the header. The caller
 * frees *made. */
int rpc_vouch(const struct conf *conf, bool is_local, struct rpc_header *h, const void *body,
              int64_t deadline_ms, struct rpc_minted **made, struct err *err);

/* Mints one token per audience, in order, by the first daemon of this host that answers, with few
 * calls whatever the number. The caller frees *made. */
int rpc_mint(const struct conf *conf, const uint8_t hash[AUTH_HASH_SIZE],
             const char *const *audiences, size_t count, int64_t deadline_ms,
             struct rpc_minted **made, struct err *err);
