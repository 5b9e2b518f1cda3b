/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request and its one answer on the loop, inside this room: what async.c and fanout.c share. */
#pragma once

#include "rpc/conn.h"
#include "rpc/rpc.h"

/* Once, with 0 and the reply, or the failure. The connection is closed by then. */
typedef void rpc_once_fn(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err);

struct rpc_once;
struct rpc_minted;
/* Takes the descriptor. minted NULL: it is a local socket. */
struct rpc_once *rpc_once_start(struct rpc_io *io, int fd, const struct rpc_header *h,
                                const struct rpc_minted *minted, const void *body,
                                rpc_once_fn *done, void *ctx);
/* Over a local socket: with a reply the connection is not closed when *fd is negative. *fd is its
 * descriptor then, and the caller's. */
void rpc_once_keep(struct rpc_once *o, int *fd);
void rpc_once_drop(struct rpc_once *o);
