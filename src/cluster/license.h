/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Licences of the cluster (Licenses= of slurm.conf), and resources that are tied to nodes: how many
 * there are, and how many the jobs have that run. A job has its own from its start to its end, not
 * until its nodes are clean.
 *
 * Both are pools that differ in their scope. A licence is one pool whose scope is the cluster. A
 * resource that is tied to nodes consists of layers: each is a pool whose scope is a set of nodes.
 * A job draws from every layer that has one of the job's nodes, so the placement of a job decides
 * what the job takes (license_layer.c). A job on nodes that no layer has cannot use the resource.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/err.h"
#include "base/vec.h"

struct cluster;
struct job;
struct resv;

#define LICENSE_UNLIMITED UINT64_MAX /* as a total */

struct license { /* a pool */
    char *name;
    uint64_t total, used; /* used may be more, after a reconfiguration */
    struct bitset *nodes; /* the scope; NULL: the cluster */
    bool per_node;        /* a job takes its count for each of its nodes in the scope, not once */
    uint32_t layers;      /* in the first pool of a resource: the number of its pools; else 0 */
};

struct licenses {
    VEC(struct license) list; /* layers of a resource in a row, those with the fewest nodes first */
    bool layered;             /* the scope of some is less than the cluster */
};

struct license_need {
    char *name;
    uint32_t count;
    int32_t at; /* its first pool in cluster.licenses; -1: not configured (any more), it waits */
};

struct license_hold { /* of a layer, by a job that runs */
    int32_t at;
    uint32_t nodes; /* that the job has in its scope */
    uint64_t count;
};

struct license_needs {
    VEC32(struct license_need) list;
};

void license_init(struct cluster *c); /* from its configuration */
void license_done(struct licenses *l);

/* -L as given; *out is the caller's to free, and empty after a failure: -ERR_LICENSE. */
int license_read(const struct cluster *c, const char *text, struct license_needs *out,
                 struct err *err);
void license_needs_done(struct license_needs *n);
/* 'to' is overwritten. */
void license_needs_copy(const struct license_needs *from, struct license_needs *to);
/* Whether there are ever as many; -ERR_LICENSE. */
int license_needs_possible(const struct cluster *c, const struct license_needs *n, struct err *err);
int license_possible(const struct cluster *c, const struct job *j, struct err *err);

/* What reservations keep of a licence from a job in 'in' (NULL: outside of all) that would have it
 * for that time. */
uint64_t license_kept(const struct cluster *c, int32_t at, const struct resv *in, int64_t from,
                      int64_t until);
/* A job takes 'count' of a pool: the part that its reservation does not provide. */
uint64_t license_beyond(int32_t at, uint64_t count, const struct resv *in);
/* Whether so many are free now, for a job that begins there. Of layers this says nothing. */
bool license_fits(const struct cluster *c, const struct job *j, const struct resv *in,
                  int64_t now_sec);
bool license_held(const struct job *j); /* it has begun, and not ended */
/* The job's are in use from now on, or not any more. */
void license_take(struct cluster *c, struct job *j);
void license_give_back(struct cluster *c, struct job *j);
int license_check(const struct cluster *c, struct err *err); /* the sums agree */

/* --- license_layer.c ---------------------------------------------------------------------------
 */

/* Adds a layer to the resource, which must be the last one that was added, or a new one. The nodes
 * are the cluster's from now on. Before any request is read. */
void license_add_layer(struct cluster *c, const char *name, bool per_node, struct bitset *nodes,
                       uint64_t total);
bool license_is_layered(const struct cluster *c, const struct license_need *need);
bool license_needs_layers(const struct cluster *c, const struct job *j);
/* What a job with so many nodes in the scope takes of the pool. */
uint64_t license_amount(const struct license *l, const struct license_need *need, uint32_t nodes);
/* What a job that runs holds of the pool. */
uint64_t license_of_job(const struct cluster *c, const struct job *j, int32_t at);
/* The job has a node more (by: 1) or less (-1). While the job runs, what it holds of the layers
 * follows. */
void license_follow_node(struct cluster *c, struct job *j, uint32_t node, int by);
/* The same for all of its nodes: when it begins, and when it ends. */
void license_take_layers(struct cluster *c, struct job *j);
void license_give_back_layers(struct cluster *c, struct job *j);
/* Removes nodes from 'set' until the job may run on any of those that are left, and on all of them:
 * 'room' says of each layer what the job may take. Where nodes must be dropped for their number,
 * those in 'keep' (NULL: none) and of the largest 'weight' (by node; NULL: alike) stay. True: some
 * were removed. */
bool license_trim(const struct cluster *c, const struct license_need *need, const uint64_t *room,
                  const struct bitset *keep, const uint32_t *weight, struct bitset *set);
int license_check_layers(const struct cluster *c, const struct job *j, uint64_t *used,
                         struct err *err);
/* -ERR_LICENSE: the layers never have it for so many nodes. */
int license_layers_possible(const struct cluster *c, const struct license_need *need,
                            uint32_t nodes, struct err *err);
