/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bookkeeping functions of each kind of resource: the rows of resource_kind.def, in their order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "proto/job.pb-c.h"

struct cluster;
struct job;
struct resv;

enum resource_scope { RESOURCE_NODE, RESOURCE_SUBTREE, RESOURCE_CLUSTER };

/* The functions of a kind, defined in its file. NULL: the kind does not need the function. */
struct resource_ops {
    /* Whether the cluster can ever satisfy the job's request, or the joint request of all
     * components of the set of 'any'. */
    int (*possible)(const struct cluster *c, const struct job *j, struct err *err);
    int (*set_possible)(const struct cluster *c, const struct job *any, struct err *err);
    /* The job begins or ends; also called around a change of a running job's request. */
    void (*take)(struct cluster *c, struct job *j);
    void (*give_back)(struct cluster *c, struct job *j);
    /* Adds (by: 1) or removes (-1) the running job's holdings from the used amounts of the
     * reservation. */
    void (*use_reserved)(const struct cluster *c, struct resv *r, const struct job *j, int by);
    /* The running job got the node (by: 1) or lost it (-1). */
    void (*follow_node)(struct cluster *c, struct job *j, uint32_t node, int by);
    /* Checks that the amounts in use are the sums over all jobs: 0, or -ERR_INTERNAL. */
    int (*check)(const struct cluster *c, struct err *err);
    /* pack: adds to the job's record what a restart cannot derive from the request and the nodes.
     * restore: reads it before the job has its state and its nodes. differs: whether the restored
     * job, with its nodes, holds something else than the record says. */
    void (*pack)(const struct cluster *c, const struct job *j, Pb__JobLive *m, struct arena *arena);
    void (*restore)(const struct cluster *c, struct job *j, const Pb__JobLive *m);
    bool (*differs)(const struct cluster *c, const struct job *j, const Pb__JobLive *m);
};

#define RESOURCE(id, scope, noun, ...) extern const struct resource_ops resource_##noun;
#include "cluster/resource/resource_kind.def"

/* Call the functions of all kinds; return 0, or the first error. */
int resource_possible(const struct cluster *c, const struct job *j, struct err *err);
int resource_set_possible(const struct cluster *c, const struct job *any, struct err *err);
/* Also updates the reservation of the job. */
void resource_take(struct cluster *c, struct job *j);
void resource_give_back(struct cluster *c, struct job *j);
void resource_use_reserved(const struct cluster *c, struct resv *r, const struct job *j, int by);
void resource_follow_node(struct cluster *c, struct job *j, uint32_t node, int by);
int resource_check(const struct cluster *c, struct err *err);
void resource_pack(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                   struct arena *arena);
void resource_restore(const struct cluster *c, struct job *j, const Pb__JobLive *m);
bool resource_differs(const struct cluster *c, const struct job *j, const Pb__JobLive *m);
