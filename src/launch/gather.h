/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What many nodes say, each thing once with the nodes that say it. */
#pragma once

#include "base/hostlist.h"
#include "base/vec.h"

struct gather {
    VEC(struct gathered {
        char *text;
        struct hostlist *nodes;
    })
    list; /* in the order of their first nodes */
};

void gather_add(struct gather *g, const char *node, const char *text);
/* fn is given a host list and a text for each; then it is as new. */
typedef void gather_fn(void *ctx, const char *nodes, const char *text);
void gather_tell(struct gather *g, gather_fn *fn, void *ctx);
void gather_done(struct gather *g);
