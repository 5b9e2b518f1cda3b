/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Resources that nodes have in common: what the planner, the start of a job and "sluice why" ask of
 * each kind, a row COMMON_RESOURCE of cluster/resource/resource_kind.def.
 */
#pragma once

#include "cluster/cluster.h"
#include "sched/license.h"

struct common_ops;

struct common_short { /* what keeps a job from its start; have < need, or others claim it */
    char *what;       /* of the kind, for people: "license:x(n[1-8])"; the caller frees */
    uint64_t have, need;
    const struct common_ops *kind;
    int32_t at; /* what 'held' is asked about; -1: it is not configured */
};

/* NULL: the kind needs no such function, or another one of the same reason has it. */
struct common_ops {
    /* Whether the job can begin there now, whoever has a claim. 'where' NULL: the same, wherever
     * its nodes are. */
    bool (*fits)(const struct cluster *c, const struct job *j, const struct resv *in,
                 const struct selection *where, int64_t now_sec);
    /* Whether it leaves the job enough of these nodes now. */
    bool (*leaves_nodes)(const struct license_claims *claims, const struct cluster *c,
                         const struct job *j, const struct bitset *allowed, int64_t now_sec);
    /* Finds the first of what the job requests that it is short of; where it is short of none, the
     * last, since claims of others keep that from it. False: it requests nothing. */
    bool (*find_short)(const struct cluster *c, const struct job *j, int64_t now_sec,
                       struct common_short *out);
    /* How much of it a job holds. */
    uint64_t (*held)(const struct cluster *c, const struct job *j, int32_t at);
};

#define COMMON_RESOURCE(id, scope, noun, ...) extern const struct common_ops common_##noun;
#include "cluster/resource/resource_kind.def"

/* All kinds. */
bool common_fits(const struct cluster *c, const struct job *j, const struct resv *in,
                 const struct selection *where, int64_t now_sec);
/* The reason of the first kind that does not leave the job enough of these nodes; REASON_NONE. */
enum reason common_find_closed(const struct license_claims *claims, const struct cluster *c,
                               const struct job *j, const struct bitset *allowed, int64_t now_sec);
/* Whether jobs with this reason wait for one of the kinds. */
bool common_has_reason(enum reason reason);
/* Of the kinds of this reason. False: there is none, or the job requests none. */
bool common_find_short(const struct cluster *c, const struct job *j, enum reason reason,
                       int64_t now_sec, struct common_short *out);
