/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The targets below this node: a list from the caller, checked against a credential. No
   sockets. */
#pragma once

#include "proto/step.pb-c.h"
#include "proto/tree.pb-c.h"
#include "rpc/relay.h"

struct tree_part {
    struct rpc_relay_target *targets; /* valid targets; their strings belong to the credential */
    uint32_t *index;                  /* position of each target in the answers, from 1 */
    size_t count;
};

/* Returns each target once that the credential covers, that is not this node and that has a token.
 * refuse() is called for every other target with its position in the answers. */
typedef void tree_refuse_fn(void *ctx, uint32_t index, const struct err *err);
void tree_part_read(const Pb__TreePart *m, const Pb__Cred *cred, const char *self,
                    tree_refuse_fn *refuse, void *ctx, struct tree_part *out);
void tree_part_done(struct tree_part *p);
