/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the books do with each kind of resource: the rows of resource_kind.def, in their order. */
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

/* The books of a kind, in the file of the kind. NULL: the kind needs no such function. */
struct resource_ops {
    /* Whether the cluster ever has what the job requests; and what all components of the set of
     * 'any' request together. */
    int (*possible)(const struct cluster *c, const struct job *j, struct err *err);
    int (*set_possible)(const struct cluster *c, const struct job *any, struct err *err);
    /* The job begins, or ends; also around a change of what a running job requests. */
    void (*take)(struct cluster *c, struct job *j);
    void (*give_back)(struct cluster *c, struct job *j);
    /* What the running job holds counts as used of the reservation (by: 1), or not (-1). */
    void (*use_reserved)(const struct cluster *c, struct resv *r, const struct job *j, int by);
    /* The running job has got the node (by: 1), or lost it (-1). */
    void (*follow_node)(struct cluster *c, struct job *j, uint32_t node, int by);
    /* The amounts in use are the sum over all jobs: 0, or -ERR_INTERNAL. */
    int (*check)(const struct cluster *c, struct err *err);
    /* Into the record of a job: what a restart could not tell from the request and the nodes. From
     * the record, before the job has its state and its nodes. And, when it has them, whether the
     * job holds something else than the record says. */
    void (*pack)(const struct cluster *c, const struct job *j, Pb__JobLive *m, struct arena *arena);
    void (*restore)(const struct cluster *c, struct job *j, const Pb__JobLive *m);
    bool (*differs)(const struct cluster *c, const struct job *j, const Pb__JobLive *m);
};

#define RESOURCE(id, scope, noun, ...) extern const struct resource_ops resource_##noun;
#include "cluster/resource/resource_kind.def"

/* The functions of all kinds: 0, or the code of the first one that fails. */
int resource_possible(const struct cluster *c, const struct job *j, struct err *err);
int resource_set_possible(const struct cluster *c, const struct job *any, struct err *err);
/* In its reservation, too. */
void resource_take(struct cluster *c, struct job *j);
void resource_give_back(struct cluster *c, struct job *j);
void resource_use_reserved(const struct cluster *c, struct resv *r, const struct job *j, int by);
void resource_follow_node(struct cluster *c, struct job *j, uint32_t node, int by);
int resource_check(const struct cluster *c, struct err *err);
void resource_pack(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                   struct arena *arena);
void resource_restore(const struct cluster *c, struct job *j, const Pb__JobLive *m);
bool resource_differs(const struct cluster *c, const struct job *j, const Pb__JobLive *m);
