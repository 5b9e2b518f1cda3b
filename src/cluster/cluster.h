/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What exists: nodes, partitions, jobs and their steps, and the ledger of what is allocated where.
 * Other rooms read these structs; they change them only through the functions declared here and in
 * the headers of the subdirectories, which come with this one. All memory belongs to the cluster.
 * Single-threaded; no clock, file or socket. The subdirectories all know this header, and it knows
 * their types (docs/adr/0051).
 */
#pragma once

#include "base/arena.h"
#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/index/idmap.h"
#include "cluster/index/order.h"
#include "cluster/job/alloc.h"
#include "cluster/job/array.h"
#include "cluster/job/begun.h"
#include "cluster/job/depend_index.h"
#include "cluster/job/holdings.h"
#include "cluster/job/job.h"
#include "cluster/job/job_partitions.h"
#include "cluster/job/job_set.h"
#include "cluster/job/jobs.h"
#include "cluster/job/leaf.h"
#include "cluster/job/license.h"
#include "cluster/job/request.h"
#include "cluster/job/resource_kind.h"
#include "cluster/job/resv_job.h"
#include "cluster/node/names.h"
#include "cluster/node/node.h"
#include "cluster/node/part.h"
#include "cluster/node/pool.h"
#include "cluster/resource/cores.h"
#include "cluster/resource/gres_held.h"
#include "cluster/resource/gres_parts.h"
#include "cluster/resource/share.h"
#include "cluster/resv/resv.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"

struct cluster {
    const struct conf *conf;
    const struct time_zone *zone; /* of its reservations; borrowed; NULL: UTC */
    VEC(struct node *) nodes;     /* index: that of the configuration */
    struct pool pool;             /* the same, as the planner reads them */
    struct topo **topos;          /* by network of the configuration; NULL: it is flat */
    VEC(struct gres_kind) gres_kinds;
    VEC(struct gres_parts *) gres_parts; /* of the sets that have some */
    VEC(struct part *) parts;            /* in order of the configuration */
    VEC(struct resv *) resvs;            /* in the order of their creation */
    VEC(struct job *) jobs;              /* by rising id, once all are loaded */
    struct job_sets sets;
    VEC(struct array *) arrays;  /* by rising id */
    VEC(uint32_t) dirty_arrays;  /* ids of those with a record to be written */
    size_t folded;               /* pending elements in records of several, but for one of each */
    struct idmap requests;       /* ids of the jobs they made */
    VEC(uint32_t) dirty;         /* ids of jobs to be written at the end of the turn */
    struct order due;            /* jobs, by the monotonic time something must happen */
    struct order ends;           /* running jobs, by the wall time they end at the latest */
    struct order silent;         /* nodes that do not answer */
    struct depend_index waiting; /* who waits for whom */
    struct licenses licenses;
    struct holdings holdings; /* what the jobs of each user take */
    struct begun begun;
    VEC(uint32_t)
    leaf_jobs; /* ids of those that have leaves of the network alone, see job/leaf.h */
    VEC(uint32_t)
    yielded; /* ids of jobs that make room for others: they end soon, or are suspended and
                go on by themselves */
    VEC(struct str)
    removed_parts; /* packed PartChange: lines of slurm.conf that scontrol removed */
    VEC(struct str)
    gone_nodes;     /* packed NodeRecord: what is kept of nodes that are not configured now */
    uint64_t stamp; /* rises with every change */
    size_t pending, running;
    struct transition_observer observer; /* of all changes of jobs' states */
};

struct cluster *cluster_new(const struct conf *conf);
/* The networks of its configuration, with the nodes where scontrol has put them; -ERR_CONFIG: there
 * can be no such networks, and they are as the files say. */
int cluster_place_nodes(struct cluster *c, struct conf *conf, struct err *err);
void cluster_free(struct cluster *c);

/* One that no line of slurm.conf defines, without nodes. */
struct part *cluster_add_part(struct cluster *c, const char *name);
/* No job that waits or runs may be in it; ended ones keep its name. */
void cluster_remove_part(struct cluster *c, struct part *p);
