/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies that are sent in slices. */
#pragma once

#include "slurmctld/core/ctld.h"

typedef bool listing_fn(struct control *c, const struct caller *who, const ProtobufCMessage *filter,
                        uint64_t *cursor, size_t budget, struct str *out);
void listing_start(struct ctld *c, const struct rpc_request *request, const struct caller *who,
                   listing_fn *list);
void listing_continue(void *ctx, uint64_t call); /* a slice was sent; other calls are ignored */
void listing_drop(struct ctld *c, uint64_t call);
void listing_drop_all(struct ctld *c);
