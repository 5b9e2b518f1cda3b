/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of the cluster: nodes, partitions, jobs and their steps, and the ledger of allocations.
 * Other rooms read these structs; they change them only through the functions declared here and in
 * the headers of the subdirectories, which this header includes. The cluster owns all memory. It is
 * single-threaded and uses no clock, file or socket. All subdirectories include this header, and it
 * includes their types (docs/adr/0051).
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
    const struct time_zone *zone; /* time zone of the reservations; borrowed; NULL: UTC */
    VEC(struct node *) nodes;     /* by index of the node in the configuration */
    struct pool pool;             /* the same nodes in the form that the planner reads */
    /* By index of the network in the configuration; NULL: the network is flat. */
    struct topo **topos;
    VEC(struct gres_kind) gres_kinds;
    bool has_restricted_cores;
    uint32_t restricted_kind;            /* of generic resources: see gres_cores.h */
    VEC(struct gres_parts *) gres_parts; /* one for each set of generic resources with parts */
    VEC(struct part *) parts;            /* in order of the configuration */
    VEC(struct resv *) resvs;            /* in the order of their creation */
    VEC(struct job *) jobs;              /* by rising id, once all are loaded */
    struct job_sets sets;
    VEC(struct array *) arrays; /* by rising id */
    VEC(uint32_t) dirty_arrays; /* ids of the arrays whose records must be written */
    size_t folded; /* pending array elements that share a record, less one for each record */
    struct idmap requests; /* submission request ids, to the ids of the jobs that they created */
    VEC(uint32_t) dirty;   /* ids of jobs to be written at the end of the turn */
    struct order due;      /* jobs, by the monotonic time of their next action */
    struct order ends;     /* running jobs, by the latest wall time of their end */
    struct order unresponsive;   /* unresponsive nodes */
    struct depend_index waiting; /* dependencies between jobs */
    struct licenses licenses;
    struct holdings holdings; /* resources that the jobs of each user hold */
    struct begun begun;
    VEC(uint32_t)
    leaf_jobs; /* ids of the jobs that hold leaves of the network exclusively, see job/leaf.h */
    VEC(uint32_t)
    yielded; /* ids of preempted jobs: they end soon, or are suspended and resume automatically */
    VEC(struct str)
    removed_parts; /* packed PartChange: lines of slurm.conf that scontrol removed */
    VEC(struct str)
    gone_nodes;     /* packed NodeRecord: stored data of nodes that are not configured now */
    uint64_t stamp; /* rises with every change */
    size_t pending, running;
    struct transition_observer observer; /* of all state changes of jobs */
};

struct cluster *cluster_new(const struct conf *conf);
/* Builds the networks of the configuration, with the nodes at the places that scontrol gave them.
 * -ERR_CONFIG: these networks are invalid, and the networks are built as the configuration files
 * say. */
int cluster_place_nodes(struct cluster *c, struct conf *conf, struct err *err);
void cluster_free(struct cluster *c);

/* Adds a partition that no line of slurm.conf defines, without nodes. */
struct part *cluster_add_part(struct cluster *c, const char *name);
/* Removes a partition. No pending or running job may be in it; ended jobs keep its name. */
void cluster_remove_part(struct cluster *c, struct part *p);

/* See job/license.h. Inline: the planner asks several times about each job. */
static inline bool license_is_tied(const struct cluster *c, const struct license_need *need)
{
    return need->at >= 0 && c->licenses.list.data[need->at].nodes;
}
static inline bool license_needs_tied(const struct cluster *c, const struct job *j)
{
    if (c->licenses.has_tied)
        vec_foreach (&j->want.licenses.list, need)
            if (license_is_tied(c, need))
                return true;
    return false; /* no need is tied */
}
