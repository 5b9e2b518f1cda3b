/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job asks for, as numbers and sets: parsed from its spec, and completed for a partition. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/idset.h"
#include "cluster/job/license.h"
#include "cluster/node/constraint.h"
#include "cluster/resource/dist.h"
#include "cluster/resource/gres.h"
#include "proto/job.pb-c.h"

struct cluster;
struct part;

struct job_rank { /* what its priority is made of besides */
    bool given;   /* by a person or an external scheduler: the priority is not made of factors */
    int32_t site_factor;
    double assoc, fairshare, qos;   /* what accounting says of it, from 0 to 1; 0: nothing */
    int64_t accrue_at, accrued_sec; /* since when it ages, 0: it does not; and its age before */
};

/* CPUs near devices are better ones, are the only ones, or are as good as others. */
enum gres_binding { GRES_BINDING_NEAR, GRES_BINDING_ENFORCED, GRES_BINDING_ANY };

struct request {
    uint32_t min_nodes, max_nodes, tasks, cpus_per_task, ntasks_per_node, min_cpus;
    struct idset *sizes;              /* the node counts it may have; NULL: all of that range */
    uint32_t good_nodes;              /* as many as that when they are free now, if not min_nodes */
    uint32_t sockets, cores, threads; /* nodes have that many at least: sockets, cores of each,
                                         threads of a core */
    uint16_t use_threads;             /* of a core, at most; 0: all */
    uint16_t tasks_per_gpu;           /* of a node, at most; 0: any number */
    uint32_t tasks_per_socket, tasks_per_core; /* at most; 0: any number */
    uint32_t spec;                             /* cores of each node that no task gets */
    uint32_t cpus_per_gpu;
    uint16_t switches; /* so many leaves of the network at most; 0: any number */
    uint16_t segment;  /* nodes that are in one block, each so many; 0: any */
    uint64_t mem_node_mib, mem_cpu_mib, mem_gpu_mib, tmp_mib;
    int64_t switches_sec;     /* after waiting that long for so few switches, any number, too */
    struct bitset *req, *exc; /* NULL: none */
    struct gres_wants gres;
    struct license_needs licenses;
    char *features; /* NULL: none */
    char *prefer;   /* features instead of those, where that fits; NULL: none */
    struct constraint *constraint, *preferred; /* the two, as read */
    uint8_t gres_binding : 2;                  /* enum gres_binding */
    bool exclusive : 1;                        /* takes whole nodes; alone, unless it shares */
    bool whole_sockets : 1;                    /* has all cores of its sockets, by its partition */
    bool shared : 1;       /* its units may be those of other jobs of its partition that share */
    bool shares_parts : 1; /* those of jobs of other partitions, too, */
    bool shares_tiers : 1; /* also of another PriorityTier */
    bool ask_exclusive : 1, ask_shared : 1;  /* what the two above follow from, and the partition */
    bool user_alone : 1, ask_user_alone : 1; /* only this user's jobs may be on its nodes */
    bool topo_alone : 1, ask_topo_alone : 1; /* its leaves of the network are its alone */
    bool spec_in_threads : 1;                /* these are counted so */
    bool contiguous : 1, overcommit : 1, tasks_given : 1;
    bool req_gone : 1; /* a node it requires is not configured any more: it waits */
    bool pack : 1;     /* its tasks fill one node before the next */
    bool cyclic : 1;   /* its CPUs are of all sockets of a node in turn */
    bool spread : 1, use_min_nodes : 1; /* of a range of node counts: as many as possible, or as
                                           few */
    bool segments_apart : 1, segments_together : 1; /* at most one in a block; all in one block of
                                                       blocks */
    bool reboots : 1;                               /* its nodes, before it begins */
    bool unattended : 1;                            /* salloc --no-shell: nobody stays with it */
    bool chooses_host : 1;                          /* --batch was given */
    uint32_t cpus;                                  /* in all, of NumCPUs; 0: what the tasks need */
};

void request_done(struct request *r);
/* The Exclusive= of a job: TOPO, NODE (its nodes are whole), USER or NO. */
const char *request_exclusive_word(bool topo_alone, bool exclusive, bool user_alone);
/* The OverSubscribe= of a job: YES when it asked for that, NO when its nodes are its alone, else
 * OK. */
const char *request_oversubscribe_word(bool asked, bool exclusive, bool shares);
/* Its CPUs and its devices have to be near each other. A job that has whole nodes, or shares its
 * cores with others, has no choice of CPUs. */
bool request_is_bound(const struct request *r);

#define REQUEST_SIZES_MAX (1u << 20) /* the greatest node count of a list, */
#define REQUEST_SIZES_TEXT 1000      /* bytes of one, */
#define REQUEST_SIZES_RUNS 500       /* and ranges and numbers in it */
/* "1,3-9:2": the node counts of a list that is not longer than that. -ERR_NODE_COUNT. */
int request_parse_sizes(const char *text, struct idset *out, struct err *err);

struct request_gpus { /* wanted of each node, of each task, and in all */
    uint64_t node, task, job;
};

/* A JobSpec with each of its texts parsed: the same in all partitions. */
struct parsed_request {
    struct request request; /* without what a partition gives */
    struct request_gpus gpus;
    struct dist dist;                    /* empty when --distribution is not valid */
    unsigned mail;                       /* JOB_MAIL_*; 0 when --mail-type is not valid */
    uint32_t warn_signal, warn_sec;      /* --signal: so many seconds before the limit; 0: none */
    bool warn_batch;                     /* to the script alone */
    bool has_valid_dist, has_valid_mail; /* a stored job goes on without what is not valid */
};

/* -ERR_NO_NODE, -ERR_NODE_COUNT, -ERR_NODE_CONFIG, -ERR_FEATURE, -ERR_GRES, -ERR_LICENSE; 'out' is
 * untouched then. */
int request_parse(const struct cluster *c, const Pb__JobSpec *s, struct parsed_request *out,
                  struct err *err);
void request_drop_licenses(struct parsed_request *p);
void request_parsed_done(struct parsed_request *p);
/* The request of a job in that partition (NULL: in none), with its defaults and the cluster's.
 * 'last': it is not needed for another partition, and nothing is copied. */
void request_complete(const struct cluster *c, const struct part *part, const Pb__JobSpec *s,
                      struct parsed_request *p, bool last, struct request *out);
