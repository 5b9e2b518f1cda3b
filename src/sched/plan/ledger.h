/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tentative ledger: the free resources as if the parts placed on it had begun. The components of
 * a job set are placed one by one, each beside the preceding ones; placements that do not fit
 * together are rolled back to a mark, in reverse order. The cluster does not change: the caller
 * that carries out the decision allocates all parts or none.
 *
 *     ledger_begin_on(), then any number of ledger_place() and ledger_roll_back(), then
 * ledger_end()
 */
#pragma once

#include "cluster/cluster.h"

struct selection;

struct ledger_entry { /* a node as it was before a part was placed on it */
    uint32_t node, units;
    struct amounts amounts;
    bool whole;
    struct node_users users;
    const struct unit_use *use;
    struct unit_use *own_use; /* the replacement in the view; NULL: unchanged */
    struct bitset *busy;      /* of view.busy */
    struct bitset *own_busy;  /* the same with the units of the part; NULL: unchanged */
};

struct ledger {
    const struct cluster *cluster;
    /* Free resources without the parts: pool.now or a hypothetical view. */
    const struct free_view *base;
    bool chooses_units;    /* some part takes whole cores or sockets: which units are free counts */
    struct bitset **busy;  /* by node, if 'chooses_units': the units in use, in view.busy */
    bool has_view;         /* created when the first part is placed */
    struct free_view view; /* the base less the resources of the parts */
    VEC(struct ledger_entry) entries;
    VEC(uint64_t) gres; /* the node's free GRES of every kind, for each entry */
};

/* Begins a ledger on a hypothetical view. The view is borrowed. */
void ledger_begin_on(struct ledger *l, const struct cluster *c, const struct free_view *base);
void ledger_end(struct ledger *l);

/* Returns the free resources beside the parts placed so far. Valid until the ledger changes. */
const struct free_view *ledger_view(const struct ledger *l);
void ledger_place(struct ledger *l, const struct job *j, const struct selection *where);
/* Returns a mark for a later rollback. */
size_t ledger_mark(const struct ledger *l);
void ledger_roll_back(struct ledger *l, size_t mark);
