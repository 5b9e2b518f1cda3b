/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the planner reads of every node, side by side: a decision looks at thousands of nodes, and
 * each node's own struct would cost it cache misses. Whoever changes a node calls pool_update();
 * alloc_check() finds what was forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/err.h"
#include "base/vec.h"
#include "cluster/node/spare.h"
#include "cluster/resource/amounts.h"

struct cluster;
struct conf_gres_set;
struct gres_parts;
struct node;
struct unit_use;

/* Whose jobs run on a node, as far as --exclusive=user goes. */
struct node_users {
    enum { USERS_NONE, USERS_ONE, USERS_ONLY, USERS_MANY } who; /* ONLY: and keeps others away */
    uint32_t uid;                                               /* of the one */
};

/* What nodes are alike in, as far as a request can tell. Few clusters have many kinds. */
struct node_kind {
    uint32_t sockets, cores, threads;
    uint32_t cpus, units, cpus_per_unit, weight;
    uint32_t spec_cpus; /* beside 'cpus', kept for the system */
    struct amounts amounts;
    uint64_t tmp_mib;
    bool future;
    const struct conf_gres_set *gres;
    uint64_t *gres_total;           /* by kind of generic resource */
    const struct gres_parts *parts; /* of its GPUs; NULL: none */
    char *features;                 /* NULL: none */
    uint32_t nodes;                 /* so many are of it; 0: the place is free */
};

/* What is free in a state of the cluster, the present one or another; arrays by node. */
struct free_view {
    uint32_t *units;
    struct amounts *amounts; /* below 0: what runs has more than the node is configured to have */
    bool *whole;             /* nothing runs there */
    uint64_t *gres; /* as many as the cluster knows kinds of generic resources for each node */
    const struct unit_use **use; /* of nodes where jobs share */
    struct node_users *users;
    struct bitset *const *busy; /* by node: which units are in use; NULL, of all or of one: those
                                   that are in use now */
    const uint32_t *most;  /* an upper limit for the units of a job, by reservations; NULL: none */
    const uint32_t *limit; /* the same, with units that others have, too; NULL: none */
    const uint64_t *pools; /* by pool of cluster.licenses: what a job may take of those that are
                              tied to nodes; NULL: pools are not asked */
    const uint64_t *returned; /* by pool: what victims of preemption give back; NULL: nothing */
    bool present;             /* it is the present one: what a partition's jobs use counts, too */
};

struct pool {
    VEC(struct node_kind) kinds;
    uint32_t *kind, *weight; /* by node */
    size_t gres_kinds;
    size_t locked; /* nodes where only one user's jobs may be */
    struct free_view now;
    struct bitset *usable; /* new work may go there */
    struct spare spare;    /* of the usable ones */
    uint64_t freed; /* rises when more may fit than before, or a node is no longer usable; not 0 */
    uint64_t taken, released; /* rise with each node that a job gets, also again, or gives back */
    uint64_t returned;        /* rises whenever a suspended job gets its units back */
};

void pool_init(struct cluster *c); /* its nodes are all there */
void pool_done(struct pool *p);

/* The node has changed: what it has, what is allocated there, or whether it is usable. */
void pool_update(struct cluster *c, const struct node *n);

/* With room for the nodes, all 0. */
void pool_view_init(struct free_view *v, size_t nodes, size_t gres_kinds);
/* As free as it is there; for views that stay as they are for the most part. */
void pool_view_copy(struct free_view *v, const struct free_view *from, size_t nodes,
                    size_t gres_kinds);
void pool_view_done(struct free_view *v);

/* How many nodes of the set are of each kind. The caller frees. */
uint32_t *pool_count_kinds(const struct pool *p, const struct bitset *set);

/* -ERR_INTERNAL: it is not what the nodes are. */
int pool_check(const struct cluster *c, struct err *err);
