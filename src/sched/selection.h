/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes a request fits on, and what it gets of each: a selection, and the functions of
 * select.c that make one. Pure. */
#pragma once

#include "cluster/cluster.h"

struct share { /* of one node */
    uint32_t node, units;
    struct amounts amounts;
    uint32_t gres_at, gres_len; /* in the selection's */
    uint32_t per_socket;        /* most units of one socket; 0: any number */
    uint32_t beyond;            /* units that per_socket does not limit */
};

struct selection {
    VEC(struct share) shares; /* in order of node index */
    VEC(struct gres_amount) gres;
    VEC32(int32_t) payers; /* in cluster.licenses: of tied pools, those that pay what one pays */
};

/* The arguments of alloc_place() for a share. */
static inline struct alloc_want share_want(const struct selection *s, const struct share *share)
{
    return (struct alloc_want){
        share->node,     share->units,
        share->amounts,  share->gres_len ? s->gres.data + share->gres_at : NULL,
        share->gres_len, share->per_socket,
        share->beyond};
}

/* Chooses from 'allowed' nodes (view NULL: as free as they are now). 0, or -ERR_NODES_BUSY. */
int select_nodes(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                 const struct free_view *view, struct selection *out);

/* All nodes, when the choice for this job depends on others than it may have; NULL: it does not.
 * A view that has numbers for a part of the nodes alone needs those for all of them. The caller
 * frees. */
struct bitset *select_scope(const struct cluster *c, const struct job *j);

/* The selection; for a job that takes its leaves of the network alone, in 'wide' also all units of
 * the nodes of these leaves where the job does not run. */
const struct selection *select_widen(const struct cluster *c, const struct job *j,
                                     const struct selection *where, struct selection *wide);

/* Whether it would fit on these if nothing ran on them. */
bool select_fits_idle(const struct cluster *c, const struct job *j, const struct bitset *set);

/* Nodes whose configuration satisfies the request at all, busy or not. The caller frees. */
struct bitset *select_candidates(const struct cluster *c, const struct job *j);

/* Whether the request fits on an empty cluster with every node up; 0 or why not (Slurm's code). */
int select_possible(const struct cluster *c, const struct job *j, struct err *err);
void select_clear(struct selection *s);
void select_copy(struct selection *to, const struct selection *from); /* to: zeroed, or cleared */
void select_done(struct selection *s);
