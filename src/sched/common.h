/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Resources that several nodes or the whole cluster share: the functions of each kind for the
 * planner, the start of a job and "sluice why"; a kind is a row COMMON_RESOURCE of
 * cluster/resource/resource_kind.def.
 */
#pragma once

#include "cluster/cluster.h"
#include "sched/license.h"

struct common_ops;

struct common_short { /* the shortage that keeps a job from starting: have < need, or other jobs
                         claim the rest */
    char *what;       /* for messages: "license:x(n[1-8])"; the caller frees it */
    uint64_t have, need;
    const struct common_ops *kind;
    int32_t at; /* argument of held(); -1: not configured */
};

/* NULL: the kind does not need the function, or another kind with the same reason has it. */
struct common_ops {
    /* Whether the job can begin on these nodes now, claims of others aside. 'where' NULL: the
     * answer does not depend on the nodes. */
    bool (*fits)(const struct cluster *c, const struct job *j, const struct resv *in,
                 const struct selection *where, int64_t now_sec);
    /* Whether the kind leaves enough of these nodes to the job now. */
    bool (*leaves_nodes)(const struct license_claims *claims, const struct cluster *c,
                         const struct job *j, const struct bitset *allowed, int64_t now_sec);
    /* Finds the first requested resource with a shortage. If no resource is short, claims of other
     * jobs block the job, and the last requested resource is returned. False: the job requests
     * none. */
    bool (*find_short)(const struct cluster *c, const struct job *j, int64_t now_sec,
                       struct common_short *out);
    /* Returns the amount that a job holds. */
    uint64_t (*held)(const struct cluster *c, const struct job *j, int32_t at);
};

#define COMMON_RESOURCE(id, scope, noun, ...) extern const struct common_ops common_##noun;
#include "cluster/resource/resource_kind.def"

/* Calls fits() of all kinds. */
bool common_fits(const struct cluster *c, const struct job *j, const struct resv *in,
                 const struct selection *where, int64_t now_sec);
/* Returns the reason of the first kind that does not leave enough of these nodes to the job; or
 * REASON_NONE. */
enum reason common_find_closed(const struct license_claims *claims, const struct cluster *c,
                               const struct job *j, const struct bitset *allowed, int64_t now_sec);
/* Whether a job with this reason waits for one of the kinds. */
bool common_has_reason(enum reason reason);
/* Finds the shortage in the kinds with this reason. False: no kind has the reason, or the job
 * requests none of them. */
bool common_find_short(const struct cluster *c, const struct job *j, enum reason reason,
                       int64_t now_sec, struct common_short *out);
