/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Licences of the cluster (Licenses= of slurm.conf), and hierarchical resources (resources.yaml):
 * how many there are, and how many the jobs have that run. A job has its own from its start to its
 * end, not until its nodes are clean.
 *
 * Both are pools that differ in their scope. A licence is one pool whose scope is the cluster. A
 * hierarchical resource consists of layers: each is a pool whose scope is a set of nodes, and the
 * placement of a job decides what the job takes (license_layer.c). In modes 2 and 3 a job draws
 * from every layer that has one of the job's nodes; a node that no layer has cannot be the job's.
 * In mode 1 a job draws from one such layer, which the planner chooses and the job's record names.
 *
 * Layers are tied pools: those whose scope is a set of nodes. The planner asks whether a pool is
 * tied, and need not know what it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/err.h"
#include "base/vec.h"
#include "conf/conf_hres.h"

struct cluster;
struct conf_license;
struct job;
struct job_copy;
struct resv;
struct str;

#define LICENSE_UNLIMITED UINT64_MAX /* as a total */

/* Names in one request. The controller compares each with all others, and the planner tries each
 * alternative. */
#define LICENSE_NAMES_MAX 64

struct license { /* a pool */
    char *name;
    uint64_t total, used;     /* for jobs; used may be more, after the total became less */
    struct bitset *nodes;     /* the scope; NULL: the cluster */
    enum conf_hres_mode mode; /* of a layer */
    const struct conf_hres_layer *conf; /* NULL: none (a licence, and in tests) */
    uint64_t count, base;               /* of a layer: the count in force, in use without jobs */
    uint32_t pools;       /* in the first pool of a resource: the number of its pools; else 0 */
    struct bitset *scope; /* in the first pool of a resource: the nodes of all its pools */
    bool is_tree;         /* in the first pool: no two layers overlap in part */
    int32_t parent;       /* in a tree, the layer around it; -1: none */
    uint32_t own;         /* in a tree, its nodes that are in no layer below it */
    uint32_t first_word, words; /* of 'nodes', where there are some */
};

struct licenses {
    VEC(struct license) list; /* tied pools of a name in a row, those with the fewest nodes first */
    bool has_tied;            /* the scope of some is less than the cluster */
    uint64_t changes;         /* rises whenever tied pools have more or less */
    struct license_mosts *mosts; /* see license_count_most(); NULL: none is tied */
};

struct license_need {
    char *name;
    uint32_t count;
    int32_t at; /* its first pool in cluster.licenses; -1: not configured (any more), it waits: the
                   name is then as written, with the variable that the resource does not have */
    bool by_variable; /* the count is the value that a variable had when it was read */
};

struct license_hold { /* of a tied pool, by a job that runs */
    int32_t at;
    uint32_t nodes; /* that the job has in its scope; in mode 1: not counted */
    uint64_t count;
};

struct license_needs {
    VEC32(struct license_need) list;
    bool any;    /* the list has alternatives ("a|b"), in the order of preference */
    bool chosen; /* the job has started, and the list is the alternative that it was given */
};

void license_init(struct cluster *c); /* from its configuration */
void license_done(struct licenses *l);

/* -L and --resources as given; *out is the caller's to free, and empty after a failure:
 * -ERR_LICENSE. */
int license_read(const struct cluster *c, const char *text, struct license_needs *out,
                 struct err *err);
/* Of a reservation: the needs are of pools, and each tied one is named by its nodes. -ERR_LICENSE.
 */
int license_read_pools(const struct cluster *c, const char *text, struct license_needs *out,
                       struct err *err);
int license_pools_possible(const struct cluster *c, const struct license_needs *pools,
                           struct err *err); /* -ERR_LICENSE: a pool has less */
void license_needs_done(struct license_needs *n);
/* 'to' is overwritten. */
void license_needs_copy(const struct license_needs *from, struct license_needs *to);
/* How many alternatives "-L a|b" names; 1 for a job without alternatives. */
uint32_t license_count_alternatives(const struct job *j);
/* A view of the job that requests only alternative n. Returns j itself when it has no alternatives,
 * otherwise 'room', filled with a shallow copy; j may be that copy already. */
const struct job *license_view_alternative(const struct job *j, uint32_t n, struct job_copy *room);
/* Reduces the request of a job that starts to alternative n. */
void license_choose_alternative(struct job *j, uint32_t n);
/* The job is requeued: it requests all alternatives of 'text' (--licenses) again, and its variables
 * have the values that they have now. */
void license_reopen_request(const struct cluster *c, struct job *j, const char *text);
bool license_held(const struct job *j); /* it has begun, and not ended */

/* An item of a request: the first pool of what it names, and its count. */
struct license_need license_resolve_item(const struct cluster *c, const struct conf_license *one);
/* Takes over the need, or adds its count to that of the same pool. -ERR_LICENSE: the sum is more
 * than can be counted, and the largest count is what is left. */
int license_add_need(struct license_needs *out, struct license_need *need, struct err *err);

/* --- license_possible.c ------------------------------------------------------------------------
 */

/* Whether the cluster has as many of each of them in total; -ERR_LICENSE. */
int license_needs_possible(const struct cluster *c, const struct license_needs *n, struct err *err);
/* Whether the cluster ever has what the job requests, for its nodes: -ERR_LICENSE if not. With
 * alternatives, one of them is enough. */
int license_possible(const struct cluster *c, const struct job *j, struct err *err);
/* The same of a job that waits: names that are unknown are no error where an alternative is known.
 */
bool license_has_possible_alternative(const struct cluster *c, const struct job *j);

/* One need of the job by itself: whether the cluster ever has it, for the nodes of the job. */
bool license_need_is_possible(const struct cluster *c, const struct job *j,
                              const struct license_need *need);

/* Of a need whose 'at' is -1: "Resource power has no variable x, it has y, z: define it ...". */
void license_format_gone(const struct cluster *c, const struct license_need *need, struct str *out);
int license_refuse_unknown(const struct cluster *c, const struct license_need *need,
                           struct err *err); /* -ERR_LICENSE, of a need whose 'at' is -1 */

/* The nodes of the request's partition that it does not exclude; NULL: all. The caller frees. */
struct bitset *license_find_allowed(const struct job *j);
