/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one run of sinfo prints: which fields of the nodes it needs, the answers of the controller,
 * the text made of them. Nodes that are alike in those fields come in groups (see Pb__NodeFilter),
 * or one by one from a controller that does not group; the text is the same.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "cmd/sinfo/options.h"
#include "show/node_rows.h"

struct table {
    const struct options *options;
    struct listing listing;
    bool bad_format;        /* a column or a sort key is unknown; the others are printed */
    struct pb_fields needs; /* of NodeRecord */
    struct arena arena;     /* for the answers, which must stay until the end */
    VEC(const Pb__PartRecord *) parts;
    VEC(struct node_rows_unit) units;
};

void table_init(struct table *t, const struct options *o); /* reports what is wrong with formats */
void table_done(struct table *t);

void table_ask(struct table *t, Pb__NodeFilter *filter); /* texts are the options' */
void table_take_parts(struct table *t, const Pb__PartList *list);
/* Takes groups apart or over; their records are changed. -ERR_PROTOCOL. */
int table_take_nodes(struct table *t, const Pb__NodeList *list, struct err *err);

void table_print(struct table *t, const char *cluster, struct str *out); /* once */
