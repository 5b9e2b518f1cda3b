/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The output of one run of sinfo: the node fields that it needs, the replies of the controller, and
 * the resulting text. Nodes that are equal in those fields arrive in groups (see Pb__NodeFilter),
 * or one by one from a controller without grouping; the text is the same.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "cmd/sinfo/options.h"
#include "show/node_rows.h"

struct table {
    const struct options *options;
    struct listing listing;
    bool bad_format;        /* a column or a sort key is unknown; the other columns are printed */
    struct pb_fields needs; /* fields of NodeRecord */
    struct arena arena;     /* for the replies, which are needed until the end */
    VEC(const Pb__PartRecord *) parts;
    VEC(struct node_rows_unit) units;
};

void table_init(struct table *t, const struct options *o); /* reports invalid formats */
void table_done(struct table *t);

void table_ask(struct table *t, Pb__NodeFilter *filter); /* texts are borrowed from the options */
void table_take_parts(struct table *t, const Pb__PartList *list);
/* Adds the nodes, splits or moves their groups, and changes their records. Returns -ERR_PROTOCOL
 * for an invalid group. */
int table_take_nodes(struct table *t, const Pb__NodeList *list, struct err *err);

void table_print(struct table *t, const char *cluster, struct str *out); /* call only once */
