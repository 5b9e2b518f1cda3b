/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is below this node: a list that a caller gives, against a credential. No sockets. */
#pragma once

#include "proto/step.pb-c.h"
#include "proto/tree.pb-c.h"
#include "rpc/relay.h"

struct tree_part {
    struct rpc_relay_target *targets; /* good ones; their texts are the credential's */
    uint32_t *index;                  /* of each its place in answers, 1 the first */
    size_t count;
};

/* Each target once, covered by the credential, not this node, with a token. refuse() is called for
 * every other one, with its place in answers. */
typedef void tree_refuse_fn(void *ctx, uint32_t index, const struct err *err);
void tree_part_read(const Pb__TreePart *m, const Pb__Cred *cred, const char *self,
                    tree_refuse_fn *refuse, void *ctx, struct tree_part *out);
void tree_part_done(struct tree_part *p);
