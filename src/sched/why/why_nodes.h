/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes on which a pending job could ever run, by the cause that excludes them now. */
#pragma once

#include "base/arena.h"
#include "base/hostlist.h"
#include "cluster/cluster.h"
#include "proto/why.pb-c.h"
#include "sched/select/resv.h"

#define WHY_GROUPS 12 /* further groups are counted with the last one */

enum why_cause {
    WHY_FREE,
    WHY_RESERVED_NODE, /* for other jobs, at some time of the job's run */
#define NODE_RESOURCE(id, ...) WHY_##id,
#include "cluster/resource/resource_kind.def"
    WHY_WHOLE,
    WHY_SHARED, /* by the maximum number of sharing jobs */
    WHY_USER,
    WHY_LEAF, /* by jobs in the same leaf of the network */
    WHY_SEVERAL,
    WHY_DRAINED,
    WHY_DOWN
};

struct why_group {
    enum why_cause cause;
    char *reason; /* reason of its nodes; NULL: none */
    uint32_t count;
    struct hostlist *nodes; /* the first nodes */
    VEC(uint32_t) holders;  /* job ids, the first ones */
};

struct why_nodes {
    struct bitset *could; /* nodes that could ever serve */
    struct bitset *open;  /* part of 'could' that no reservation withholds whole */
    size_t next;          /* next node to examine */
    uint32_t could_ever;
    uint64_t free_tasks; /* tasks that fit on the free nodes */
    uint64_t free_gres;  /* devices of the job's total that are free beside these tasks */
    VEC(struct why_group) groups;
};

void why_nodes_init(struct why_nodes *n, const struct cluster *c, const struct job *j);
void why_nodes_done(struct why_nodes *n);
/* Examines the next nodes. True: there are more. */
bool why_nodes_step(struct why_nodes *n, const struct cluster *c, const struct job *j,
                    struct resv_plan *resv, int64_t now_sec);
/* Returns the number of nodes with this cause. */
uint32_t why_nodes_count(const struct why_nodes *n, enum why_cause cause);
/* Returns the resource that most of the nodes that are not free lack. */
const char *why_nodes_scarce(const struct why_nodes *n);
/* Writes the groups, largest first. They live in the arena. */
void why_nodes_put(const struct why_nodes *n, const struct cluster *c, Pb__WhyReply *m,
                   struct arena *arena);
