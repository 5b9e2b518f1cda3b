/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generic resources (GRES): what nodes have of them, what requests want, and who holds which. A
 * cluster knows a few kinds, each a name and perhaps a type ("gpu:a100"); what the planner reads of
 * a node is a number for each kind. A request without a type is content with any of the name.
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

#define GRES_KINDS_MAX 64     /* of a cluster: sets of them are masks */
#define GRES_DEVICES_MAX 1024 /* of a kind on a node that are told apart */
#define GRES_WANTS_MAX 16     /* of a request */
#define GRES_COUNT_MAX (UINT64_C(1) << 50)

/* See gres_parts.h for the others. */
enum gres_role { GRES_PLAIN, GRES_PART, GRES_LOCK };

struct gres_kind {
    const char *name, *type; /* of the configuration; type NULL: none */
    enum gres_role role;
    bool is_explicit; /* no part of a whole node, unless the job asks for it */
    uint32_t gpu;     /* of a part or a lock: of which of the node's GPUs */
};

struct gres_stock { /* of a node, of a kind */
    uint32_t kind;
    uint64_t count, used;
    struct bitset *busy;   /* which devices; NULL: they are only counted */
    struct bitset *shared; /* of which devices parts are in use; NULL: there are no parts */
    const struct conf_gres *conf;
};

/* What nobody has; it may have come to have less than is in use. */
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
    uint64_t mask;     /* kinds that do */
    uint64_t per_node, per_task, per_job;
};

struct gres_amount {
    uint32_t kind;
    uint64_t count;
};

struct gres_held { /* by a job, on a node */
    uint32_t kind;
    uint64_t count;
    struct bitset *devices;      /* which; NULL: they are only counted */
    uint64_t step_count;         /* of these, those of steps that asked for some */
    struct bitset *step_devices; /* NULL: none */
};

struct gres_wants {
    VEC32(struct gres_want) list;
};

/* "gpu:2,gpu:a100:1,nic", each perhaps behind "gres:" or "gres/"; counts with k, m, g, t, p. */
enum gres_scope { GRES_PER_NODE, GRES_PER_TASK, GRES_PER_JOB };
int gres_parse(const struct cluster *c, const char *text, enum gres_scope scope,
               struct gres_wants *wants, struct err *err);
void gres_wants_done(struct gres_wants *wants);
void gres_wants_copy(const struct gres_wants *from,
                     struct gres_wants *to); /* 'to' is overwritten */
/* -ERR_GRES: one of them is of no node. Such a request is understood, and has to wait: nodes that
 * had it may have gone since it was taken. */
int gres_check_known(const struct cluster *c, const struct gres_wants *wants, struct err *err);
bool gres_wants_equal(const struct gres_wants *a, const struct gres_wants *b);
/* Of the resources of this name, wanted in all, and of each node and task. */
uint64_t gres_wanted(const struct gres_wants *wants, const char *name, enum gres_scope scope);
/* Of these, those that are asked by this type; NULL: without one. */
uint64_t gres_wanted_type(const struct gres_wants *wants, const char *name, const char *type,
                          enum gres_scope scope);
/* Another 'count' of 'name' in this scope; for what follows from other options. */
void gres_want(const struct cluster *c, struct gres_wants *wants, const char *name,
               enum gres_scope scope, uint64_t count);

/* GPUs asked of each node and of each task are the same ones in two views: those of a node serve
 * '*tasks' tasks, and are asked of the node alone from then on. 0: they are not asked in both
 * views, or are of several types, each for itself. -ERR_GRES: no number of tasks has them all. */
int gres_join_views(struct gres_wants *wants, uint32_t *tasks, struct err *err);

/* The cluster's kinds, of its configuration; and what a node has. */
void gres_init(struct cluster *c);
void gres_node_init(const struct cluster *c, struct node *n);
void gres_node_done(struct node *n);
struct gres_stock *gres_find(const struct node *n, uint32_t kind);
bool gres_known(const struct cluster *c, const char *name); /* a node has some, of any type */
/* The kinds of this name, of any type: a mask. */
uint64_t gres_kinds_of(const struct cluster *c, const char *name);
long gres_kind_find(const struct cluster *c, const char *name, const char *type);
/* That of parts of the node's GPU with this number. */
long gres_kind_find_part(const struct cluster *c, const char *name, uint32_t gpu);

/* Takes 'count' of the kinds of a mask from 'have'; returns what is missing. 'taken', by kind, may
 * be NULL. */
uint64_t gres_take(uint64_t mask, uint64_t count, size_t kinds, uint64_t *have, uint64_t *taken);
/* How many tasks a node with 'have' of each kind takes: what is wanted of the node is set aside
 * first. 0: none; UINT32_MAX: nothing is in the way. 'left' (by kind, may be 'have') gets what
 * remains for the job's total. */
uint32_t gres_tasks(const struct gres_wants *wants, size_t kinds, const uint64_t *have,
                    uint64_t *left);
/* Of 'have', which goes down, what so many tasks take and 'total' of what the job wants in all.
 * Appends to 'out', which has room for the kinds; returns how many. */
size_t gres_deal(const struct gres_wants *wants, size_t kinds, uint64_t *have, uint32_t tasks,
                 uint64_t total, struct gres_amount *out);
