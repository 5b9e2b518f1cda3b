/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is free on a node in some view or span of time: of every kind of resource that nodes have
 * for themselves, cores, amounts and generic resources. The tentative ledger, both calendars and
 * the search for victims change it by these functions alone, and name no kind.
 */
#pragma once

#include <assert.h>

#include "sched/plan.h"

struct node_free {
    uint32_t *units;
    struct amounts *amounts;
    uint64_t *gres; /* by kind of generic resource; NULL: the cluster knows none */
};

static inline struct node_free node_free_in(const struct free_view *v, uint32_t node, size_t kinds)
{
    return (struct node_free){&v->units[node], &v->amounts[node],
                              kinds ? v->gres + node * kinds : NULL};
}

static inline void node_free_copy(struct node_free to, struct node_free from, size_t kinds)
{
    *to.units = *from.units;
    *to.amounts = *from.amounts;
    for (size_t k = 0; k < kinds; k++)
        to.gres[k] = from.gres[k];
}

/* Of each the smaller one of the two. */
static inline void node_free_limit(struct node_free to, struct node_free most, size_t kinds)
{
    *to.units = *most.units < *to.units ? *most.units : *to.units;
    amounts_limit(to.amounts, most.amounts);
    for (size_t k = 0; k < kinds; k++)
        to.gres[k] = most.gres[k] < to.gres[k] ? most.gres[k] : to.gres[k];
}

/* A job takes its share. Units and devices may be taken twice, where jobs share them: none are left
 * then. */
static inline void node_free_take(struct node_free f, const struct selection *of,
                                  const struct share *share)
{
    *f.units -= *f.units < share->units ? *f.units : share->units;
    amounts_subtract(f.amounts, &share->amounts);
    for (uint32_t i = 0; i < share->gres_len; i++) {
        assert(f.gres);
        const struct gres_amount *amount = &of->gres.data[share->gres_at + i];
        uint64_t *left = &f.gres[amount->kind];
        *left -= *left < amount->count ? *left : amount->count;
    }
}

/* A job has the node alone: the units and devices that it does not use are nobody's. */
static inline void node_free_close(struct node_free f, size_t kinds)
{
    *f.units = 0;
    for (size_t k = 0; k < kinds; k++)
        f.gres[k] = 0;
}

/* The opposite: all units are free, and all devices but those of jobs. */
static inline void node_free_open(struct node_free f, const struct node *n)
{
    *f.units = n->units;
    vec_foreach (&n->gres, stock) {
        assert(f.gres); /* there is a kind */
        f.gres[stock->kind] += gres_left(stock);
    }
}

/* A job gives back what it holds, but for its units, which others may have too. */
static inline void node_free_give_back(struct node_free f, const struct node *n,
                                       const struct alloc_node *a)
{
    amounts_add(f.amounts, &a->amounts);
    vec_foreach (&a->gres, held)
        gres_held_give_back(n, held, f.gres);
}

/* A node has no more than it is configured to have. */
static inline void node_free_bound(struct node_free f, const struct node *n)
{
    *f.units = *f.units < n->units ? *f.units : n->units;
    amounts_limit(f.amounts, &n->amounts);
    vec_foreach (&n->gres, stock) {
        assert(f.gres);
        f.gres[stock->kind] =
            f.gres[stock->kind] < stock->count ? f.gres[stock->kind] : stock->count;
    }
}
