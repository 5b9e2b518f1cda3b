/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The free resources of a node in a view or a time span: all kinds of per-node resources, that is
 * cores, amounts and generic resources. The tentative ledger, both calendars and the search for
 * victims change them only through these functions and so do not depend on the kinds.
 */
#pragma once

#include <assert.h>

#include "sched/plan.h"

struct node_free {
    uint32_t *units;
    struct amounts *amounts;
    uint64_t *gres; /* by kind of generic resource; NULL: the cluster has none */
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

/* Sets each resource to the smaller one of the two. */
static inline void node_free_limit(struct node_free to, struct node_free most, size_t kinds)
{
    *to.units = *most.units < *to.units ? *most.units : *to.units;
    amounts_limit(to.amounts, most.amounts);
    for (size_t k = 0; k < kinds; k++)
        to.gres[k] = most.gres[k] < to.gres[k] ? most.gres[k] : to.gres[k];
}

/* Subtracts a job's share. Units and devices that jobs share may be subtracted twice; the result is
 * at least 0. */
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

/* Returns how many restricted units (RestrictedCoresPerGPU) are part of the share. */
static inline uint32_t node_free_restricted(const struct cluster *c, const struct selection *of,
                                            const struct share *share)
{
    for (uint32_t i = 0; c->has_restricted_cores && i < share->gres_len; i++)
        if (of->gres.data[share->gres_at + i].kind == c->restricted_kind)
            return (uint32_t)of->gres.data[share->gres_at + i].count;
    return 0;
}

/* Returns what a job with the share, and the node in the view before it, have of shared units. */
static inline struct share_supposed node_free_suppose(const struct cluster *c,
                                                      const struct free_view *before,
                                                      const struct selection *of,
                                                      const struct share *share)
{
    const uint64_t *gres = before->gres + share->node * c->pool.gres_kinds;
    return (struct share_supposed){
        .all = c->pool.kinds.data[c->pool.kind[share->node]].units,
        .free = before->units[share->node],
        .free_restricted = c->has_restricted_cores ? (uint32_t)gres[c->restricted_kind] : 0,
        .units = share->units,
        .restricted = node_free_restricted(c, of, share)};
}

/* A job takes the whole node: units and devices that it does not use are not free either. */
static inline void node_free_close(struct node_free f, size_t kinds)
{
    *f.units = 0;
    for (size_t k = 0; k < kinds; k++)
        f.gres[k] = 0;
}

/* The reverse of node_free_close(): all units are free, and all devices that no job holds. */
static inline void node_free_open(struct node_free f, const struct node *n)
{
    *f.units = n->units;
    vec_foreach (&n->gres, stock) {
        assert(f.gres); /* there is a kind */
        f.gres[stock->kind] += gres_left(stock);
    }
    if (!n->restricted)
        return;
    assert(f.gres); /* of GPUs, which have the cores */
    f.gres[n->restricted_kind] = bitset_count(n->restricted);
}

/* Adds units that a job releases: all of its units on the node, or those that no other job shares.
 * Suspended jobs have released theirs. */
static inline void node_free_give_units(struct node_free f, const struct node *n,
                                        const struct alloc_node *a, uint32_t units)
{
    *f.units += units;
    if (!n->restricted || a->parked)
        return;
    assert(f.gres); /* of GPUs, which have the cores */
    uint64_t restricted = bitset_count_and(a->busy, n->restricted);
    f.gres[n->restricted_kind] += restricted < units ? restricted : units;
}

/* Adds the resources that a job releases, except its units, which other jobs may share. */
static inline void node_free_give_back(struct node_free f, const struct node *n,
                                       const struct alloc_node *a)
{
    amounts_add(f.amounts, &a->amounts);
    vec_foreach (&a->gres, held)
        gres_held_give_back(n, held, f.gres);
}

/* Limits the free resources to the configured ones. */
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
