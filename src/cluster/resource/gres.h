/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generic resources (GRES): the GRES of nodes, the requests for GRES, and the jobs that hold them.
 * A cluster has a few kinds; a kind is a name with an optional type ("gpu:a100"). The planner reads
 * one number per node and kind. A request without a type accepts each type of the name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct cluster;
struct conf_gres;
struct node;

/* Maximum kinds of a cluster, so that a set of kinds is a 64-bit mask. */
#define GRES_KINDS_MAX 64
/* Maximum devices of a kind on a node that are allocated individually. */
#define GRES_DEVICES_MAX 1024
#define GRES_WANTS_MAX 16 /* maximum entries of a request */
#define GRES_COUNT_MAX (UINT64_C(1) << 50)

/* GRES_PART and GRES_LOCK: see gres_parts.h; GRES_CORES: see gres_cores.h. */
enum gres_role { GRES_PLAIN, GRES_PART, GRES_LOCK, GRES_CORES };

struct gres_kind {
    const char *name, *type; /* strings of the configuration; type NULL: none */
    enum gres_role role;
    bool is_explicit; /* not included in a whole node: a job must request it explicitly */
    uint32_t gpu;     /* for a part or a lock: number of the node's GPU */
};

struct gres_stock { /* the stock of one kind on one node */
    uint32_t kind;
    uint64_t count, used;
    struct bitset *busy;   /* devices in use; NULL: devices are only counted */
    struct bitset *shared; /* devices of which parts are in use; NULL: no device has parts */
    const struct conf_gres *conf;
};

/* The unused count; 0 also when the configured count fell below the count in use. */
static inline uint64_t gres_left(const struct gres_stock *s)
{
    return s->count > s->used ? s->count - s->used : 0;
}

static inline bool gres_device_is_free(const struct gres_stock *s, size_t device)
{
    return !bitset_test(s->busy, device) && !(s->shared && bitset_test(s->shared, device));
}

struct gres_want {
    char *name, *type; /* type NULL: any */
    uint64_t mask;     /* kinds that satisfy the request */
    uint64_t per_node, per_task, per_job;
    bool is_apart; /* no two tasks have parts of the same GPU (--gres-flags=one-task-per-sharing) */
};

struct gres_amount {
    uint32_t kind;
    uint64_t count;
};

struct gres_held { /* the GRES of one kind that a job holds on one node */
    uint32_t kind;
    uint64_t count;
    struct bitset *devices;      /* the devices; NULL: devices are only counted */
    uint64_t step_count;         /* part of 'count' that steps with a request of their own hold */
    struct bitset *step_devices; /* devices of 'step_count'; NULL: none */
};

struct gres_wants {
    VEC32(struct gres_want) list;
};

/* Parses "gpu:2,gpu:a100:1,nic", each entry with an optional prefix "gres:" or "gres/"; counts take
 * the suffixes k, m, g, t, p. */
enum gres_scope { GRES_PER_NODE, GRES_PER_TASK, GRES_PER_JOB };
int gres_parse(const struct cluster *c, const char *text, enum gres_scope scope,
               struct gres_wants *wants, struct err *err);
void gres_wants_done(struct gres_wants *wants);
void gres_wants_copy(const struct gres_wants *from,
                     struct gres_wants *to); /* 'to' is overwritten */
/* -ERR_GRES: no node has one of the requested kinds. Such a request is valid but must wait: nodes
 * with this kind may have been removed since its submission. */
int gres_check_known(const struct cluster *c, const struct gres_wants *wants, struct err *err);
bool gres_wants_equal(const struct gres_wants *a, const struct gres_wants *b);
/* Returns the requested count of this name: in all, per node, or per task. */
uint64_t gres_wanted(const struct gres_wants *wants, const char *name, enum gres_scope scope);
/* Returns the part of gres_wanted() that names this type; NULL: that names no type. */
uint64_t gres_wanted_type(const struct gres_wants *wants, const char *name, const char *type,
                          enum gres_scope scope);
/* Adds a request for 'count' of 'name' that follows from other options. */
void gres_want(const struct cluster *c, struct gres_wants *wants, const char *name,
               enum gres_scope scope, uint64_t count);

/* Merges GPUs requested both per node and per task, which are the same GPUs: '*tasks' is set to the
 * number of tasks that the GPUs of a node serve, and the request is per node from then on. '*tasks'
 * is 0 if the request has only one of the two scopes, or several types. -ERR_GRES: no number of
 * tasks uses all GPUs of a node. */
int gres_join_views(struct gres_wants *wants, uint32_t *tasks, struct err *err);

/* Set up the kinds of the cluster's configuration, and the stock of a node. */
void gres_init(struct cluster *c);
void gres_node_init(const struct cluster *c, struct node *n);
void gres_node_done(struct node *n);
struct gres_stock *gres_find(const struct node *n, uint32_t kind);
/* Whether any node has the name, of any type. */
bool gres_known(const struct cluster *c, const char *name);
/* Returns the mask of the kinds with this name, of all types. */
uint64_t gres_kinds_of(const struct cluster *c, const char *name);
long gres_kind_find(const struct cluster *c, const char *name, const char *type);
/* Returns the kind of the parts of the node's GPU with this number. */
long gres_kind_find_part(const struct cluster *c, const char *name, uint32_t gpu);

/* Takes up to 'count' of the kinds in the mask from 'have'; returns the missing count. 'taken' (by
 * kind) may be NULL. */
uint64_t gres_take(uint64_t mask, uint64_t count, size_t kinds, uint64_t *have, uint64_t *taken);
/* Returns how many tasks fit on a node with 'have' of each kind, after the per-node request is set
 * aside. 0: none; UINT32_MAX: GRES do not limit the tasks. 'left' (by kind, may be 'have') receives
 * the remainder, available for the job's total. */
uint32_t gres_tasks(const struct gres_wants *wants, size_t kinds, const uint64_t *have,
                    uint64_t *left);
/* Takes from 'have' the GRES for this number of tasks and 'total' of the job's total request.
 * Appends the amounts to 'out', which must have space for one entry per kind; returns their
 * number. */
size_t gres_deal(const struct gres_wants *wants, size_t kinds, uint64_t *have, uint32_t tasks,
                 uint64_t total, struct gres_amount *out);
