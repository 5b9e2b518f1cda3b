/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request and its single reply on the event loop, shared by async.c and fanout.c. Private to
   src/rpc. */
#pragma once

#include "rpc/conn.h"
#include "rpc/rpc.h"

/* Called once, with 0 and the reply, or with the failure. The connection is already closed. */
typedef void rpc_once_fn(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err);

struct rpc_once;
struct rpc_minted;
/* Takes ownership of the descriptor. minted NULL: the descriptor is a local socket. */
struct rpc_once *rpc_once_start(struct rpc_io *io, int fd, const struct rpc_header *h,
                                const struct rpc_minted *minted, const void *body,
                                rpc_once_fn *done, void *ctx);
/* For a local socket: if *fd is negative when a reply arrives, the connection is not closed; *fd
 * becomes its descriptor and the caller owns it. */
void rpc_once_keep(struct rpc_once *o, int *fd);
void rpc_once_drop(struct rpc_once *o);
