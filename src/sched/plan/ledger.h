/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tentative ledger: what would be free now if the parts placed on it had begun. The components of
 * a job set are placed one after the other, each beside those before it; what does not fit together
 * is rolled back to a mark, in the reverse order. Nothing of the cluster changes: who follows the
 * decision allocates all parts, or none.
 *
 *     ledger_begin(), then any number of ledger_place() and ledger_roll_back(), then ledger_end()
 */
#pragma once

#include "cluster/cluster.h"

struct selection;

struct ledger_entry { /* a node before a part was placed on it */
    uint32_t node, units;
    struct amounts amounts;
    bool whole;
    struct node_users users;
    const struct unit_use *use;
    struct unit_use *own_use; /* what the view has instead; NULL: the same */
};

struct ledger {
    const struct cluster *cluster;
    const struct free_view *base; /* what is free without the parts: pool.now, or supposed to be */
    bool has_view;                /* made when the first part is placed: */
    struct free_view view;        /* the base without what the parts have */
    VEC(struct ledger_entry) entries;
    VEC(uint64_t) gres; /* what each entry's node had, of every kind */
};

void ledger_begin(struct ledger *l, const struct cluster *c);
/* On what would be free if others had left. The base is borrowed. */
void ledger_begin_on(struct ledger *l, const struct cluster *c, const struct free_view *base);
void ledger_end(struct ledger *l);

/* What is free beside the parts placed so far. Good until the next change of the ledger. */
const struct free_view *ledger_view(const struct ledger *l);
void ledger_place(struct ledger *l, const struct job *j, const struct selection *where);
/* Now, for a later roll back. */
size_t ledger_mark(const struct ledger *l);
void ledger_roll_back(struct ledger *l, size_t mark);
