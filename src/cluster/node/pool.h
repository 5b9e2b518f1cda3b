/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The data of every node that the planner reads, side by side: a decision visits thousands of
 * nodes, and each struct node would cost a cache miss. Code that changes a node must call
 * pool_update(); alloc_check() detects a missing call.
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

/* The users whose jobs run on a node, for --exclusive=user. */
struct node_users {
    /* ONLY: one user, whose job excludes other users */
    enum { USERS_NONE, USERS_ONE, USERS_ONLY, USERS_MANY } who;
    uint32_t uid; /* of the one user */
};

/* The properties by which a request can distinguish nodes. Few clusters have many kinds. */
struct node_kind {
    uint32_t sockets, cores, threads;
    uint32_t cpus, units, cpus_per_unit, weight;
    uint32_t spec_cpus; /* reserved for the system, not part of 'cpus' */
    struct amounts amounts;
    uint64_t tmp_mib;
    bool future;
    const struct conf_gres_set *gres;
    uint64_t *gres_total;                    /* by kind of generic resource */
    const struct gres_parts *parts;          /* of its GPUs; NULL: none */
    uint32_t restricted, restricted_per_gpu; /* units for jobs with GPUs only */
    char *features;                          /* NULL: none */
    uint32_t nodes; /* number of nodes of this kind; 0: the entry is free */
};

/* The free resources in a state of the cluster, the present state or another one. Arrays are
 * indexed by node. */
struct free_view {
    uint32_t *units;
    struct amounts *amounts; /* negative: jobs hold more than the node is configured to have */
    bool *whole;             /* nothing runs there */
    uint64_t *gres; /* for each node, one number for each kind of generic resource of the cluster */
    const struct unit_use **use; /* of nodes where jobs share units */
    struct node_users *users;
    /* By node: units in use; NULL, for all nodes or for one: the units that are in use now. */
    struct bitset *const *busy;
    /* By node: free units that whole cores cannot have, because other units of these cores are, or
     * may be, in use; NULL: not computed for this job. */
    const uint32_t *broken;
    const uint32_t *most; /* upper limit for the units of a job, set by reservations; NULL: none */
    /* The same limit, counting also units that other jobs share; NULL: none. */
    const uint32_t *limit;
    /* by pool of cluster.licenses: licences tied to nodes that a job may take; NULL: do not check
     * pools */
    const uint64_t *pools;
    const uint64_t *returned; /* by pool: what victims of preemption give back; NULL: nothing */
    bool present;             /* the present state: the use of each partition counts, too */
};

struct pool {
    VEC(struct node_kind) kinds;
    uint32_t *kind, *weight; /* by node */
    size_t gres_kinds;
    size_t locked; /* number of nodes that are limited to one user's jobs */
    struct free_view now;
    struct bitset *usable; /* nodes that may get new jobs */
    struct spare spare;    /* of the usable nodes */
    uint64_t freed; /* rises when more may fit than before, or a node is no longer usable; not 0 */
    uint64_t taken, released; /* rise with each node that a job gets, first or again, or releases */
    uint64_t returned;        /* rises whenever a suspended job gets its units back */
};

void pool_init(struct cluster *c); /* requires that all nodes of the cluster exist */
void pool_done(struct pool *p);

/* Updates the pool after a node has changed: its resources, its allocations, or whether it is
 * usable. */
void pool_update(struct cluster *c, const struct node *n);

/* Allocates the arrays for the nodes, filled with 0. */
void pool_view_init(struct free_view *v, size_t nodes, size_t gres_kinds);
/* Copies a view. Meant for views that mostly keep the copied content. */
void pool_view_copy(struct free_view *v, const struct free_view *from, size_t nodes,
                    size_t gres_kinds);
void pool_view_done(struct free_view *v);

/* Counts the nodes of the set by kind. The caller frees the array. */
uint32_t *pool_count_kinds(const struct pool *p, const struct bitset *set);

/* -ERR_INTERNAL: the pool differs from the nodes. */
int pool_check(const struct cluster *c, struct err *err);
