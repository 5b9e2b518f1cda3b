/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that a waiting job could ever run on, by what keeps it off them now. */
#pragma once

#include "base/arena.h"
#include "base/hostlist.h"
#include "cluster/cluster.h"
#include "proto/why.pb-c.h"
#include "sched/select/resv.h"

#define WHY_GROUPS 12 /* further ones are counted with the last */

enum why_cause {
    WHY_FREE,
    WHY_RESERVED_NODE, /* for others, at some time of the job */
#define NODE_RESOURCE(id, ...) WHY_##id,
#include "cluster/resource/resource_kind.def"
    WHY_WHOLE,
    WHY_SHARED, /* by as many jobs as may share it */
    WHY_USER,
    WHY_LEAF, /* by jobs in the same leaf of the network */
    WHY_SEVERAL,
    WHY_DRAINED,
    WHY_DOWN
};

struct why_group {
    enum why_cause cause;
    char *reason; /* of its nodes; NULL: none */
    uint32_t count;
    struct hostlist *nodes; /* the first ones */
    VEC(uint32_t) holders;  /* ids of jobs, the first ones */
};

struct why_nodes {
    struct bitset *could; /* nodes that could ever serve */
    struct bitset *open;  /* of these, those that no reservation keeps whole from the job */
    size_t next;          /* to be looked at */
    uint32_t could_ever;
    uint64_t free_tasks; /* that fit on the free ones */
    uint64_t free_gres;  /* of what the job wants in all, beside these tasks */
    VEC(struct why_group) groups;
};

void why_nodes_init(struct why_nodes *n, const struct cluster *c, const struct job *j);
void why_nodes_done(struct why_nodes *n);
/* Looks at the next ones. True: there are more. */
bool why_nodes_step(struct why_nodes *n, const struct cluster *c, const struct job *j,
                    struct resv_plan *resv, int64_t now_sec);
/* The number of nodes of this cause. */
uint32_t why_nodes_count(const struct why_nodes *n, enum why_cause cause);
/* What most of the nodes that are not free are short of. */
const char *why_nodes_scarce(const struct why_nodes *n);
/* Groups, what there is most of first; lives in the arena. */
void why_nodes_put(const struct why_nodes *n, const struct cluster *c, Pb__WhyReply *m,
                   struct arena *arena);
