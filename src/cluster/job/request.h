/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The request of a job as numbers and sets: parsed from its spec, and completed for a partition.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/idset.h"
#include "base/str.h"
#include "cluster/job/license.h"
#include "cluster/node/constraint.h"
#include "cluster/resource/dist.h"
#include "cluster/resource/gres.h"
#include "proto/job.pb-c.h"

struct cluster;
struct part;

struct job_rank { /* inputs of the job's priority */
    bool given;   /* a person or an external scheduler set the priority: factors are not used */
    int32_t site_factor;
    double assoc, fairshare, qos; /* factors from accounting, 0 to 1; 0: none */
    /* Start of its ageing, 0: it does not age; age before that start. */
    int64_t accrue_at, accrued_sec;
};

/* CPUs near the devices are preferred, are required, or have no preference. */
enum gres_binding { GRES_BINDING_NEAR, GRES_BINDING_ENFORCED, GRES_BINDING_ANY };

struct request {
    uint32_t min_nodes, max_nodes, tasks, cpus_per_task, ntasks_per_node, min_cpus;
    struct idset *sizes; /* permitted node counts; NULL: the whole range */
    uint32_t good_nodes; /* preferred node count above min_nodes if that many nodes are free now */
    /* Minimum of a node: sockets, cores per socket, threads per core. */
    uint32_t sockets, cores, threads;
    uint16_t use_threads;                      /* maximum threads per core; 0: all */
    uint16_t tasks_per_gpu;                    /* maximum on a node; 0: any number */
    uint32_t tasks_per_socket, tasks_per_core; /* maximum; 0: any number */
    uint32_t spec; /* cores (or threads) of each node that are reserved for the system */
    uint32_t cpus_per_gpu;
    uint16_t switches; /* maximum number of leaves of the network; 0: any number */
    uint16_t segment;  /* number of nodes per segment; a segment is within one block; 0: none */
    uint64_t mem_node_mib, mem_cpu_mib, mem_gpu_mib, tmp_mib;
    /* Seconds that the job waits for at most 'switches' leaves before it accepts any number. */
    int64_t switches_sec;
    struct bitset *req, *exc; /* NULL: none */
    struct gres_wants gres;
    struct license_needs licenses;
    char *features; /* NULL: none */
    char *prefer;   /* features that replace 'features' if such nodes are free; NULL: none */
    struct constraint *constraint, *preferred; /* 'features' and 'prefer' in parsed form */
    uint8_t gres_binding : 2;                  /* enum gres_binding */
    bool exclusive : 1;     /* whole nodes, for this job alone unless it shares */
    bool whole_sockets : 1; /* its partition gives it all cores of its sockets */
    bool shared : 1;        /* it may share units with other sharing jobs of its partition, */
    bool shares_parts : 1;  /* of other partitions, */
    bool shares_tiers : 1;  /* and of other PriorityTiers */
    /* The request from which 'exclusive' and 'shared' follow, together with the partition. */
    bool ask_exclusive : 1, ask_shared : 1;
    bool user_alone : 1, ask_user_alone : 1; /* only jobs of the same user may use its nodes */
    bool topo_alone : 1, ask_topo_alone : 1; /* it uses leaves of the network exclusively */
    bool spec_in_threads : 1;                /* 'spec' counts threads */
    bool contiguous : 1, overcommit : 1, tasks_given : 1;
    bool req_gone : 1;                  /* a required node is no longer configured: the job waits */
    bool pack : 1;                      /* tasks fill one node before the next */
    bool cyclic : 1;                    /* CPUs come from all sockets of a node in turn */
    bool spread : 1, use_min_nodes : 1; /* use as many, or as few, nodes of the range as possible */
    /* At most one segment in a block; all segments in one block of blocks. */
    bool segments_apart : 1, segments_together : 1;
    bool reboots : 1;      /* reboot the nodes before the job begins */
    bool unattended : 1;   /* salloc --no-shell: no client stays connected */
    bool chooses_host : 1; /* --batch was given */
    uint32_t cpus;         /* in total, for NumCPUs; 0: what the tasks need */
};

void request_done(struct request *r);
/* Returns the value of Exclusive=: TOPO, NODE (whole nodes), USER or NO. */
const char *request_exclusive_word(bool topo_alone, bool exclusive, bool user_alone);
/* Returns the value of OverSubscribe=: YES if the job requested it, NO if its nodes are exclusive,
 * otherwise OK. */
const char *request_oversubscribe_word(bool asked, bool exclusive, bool shares);
/* Whether the CPUs and devices of the job must be near each other. A job with whole nodes or shared
 * cores has no choice of CPUs. */
bool request_is_bound(const struct request *r);

#define REQUEST_SIZES_MAX (1u << 20) /* the greatest node count of a list, */
#define REQUEST_SIZES_TEXT 1000      /* the bytes of a list, */
#define REQUEST_SIZES_RUNS 500       /* and its number of ranges and numbers */
/* Parses the node counts of a list within these limits: "1,3-9:2". -ERR_NODE_COUNT: invalid. */
int request_parse_sizes(const char *text, struct idset *out, struct err *err);

struct request_gpus { /* GPUs requested per node, per task, and in total */
    uint64_t node, task, job;
};

/* A JobSpec with parsed texts, independent of the partition. */
struct parsed_request {
    struct request request; /* without the defaults of a partition */
    struct request_gpus gpus;
    struct dist dist;                    /* empty if --distribution is invalid */
    unsigned mail;                       /* JOB_MAIL_*; 0 if --mail-type is invalid */
    uint32_t warn_signal, warn_sec;      /* --signal: this many seconds before the limit; 0: none */
    bool warn_batch;                     /* the signal goes to the script only */
    bool has_valid_dist, has_valid_mail; /* a stored job continues without an invalid value */
};

/* -ERR_NO_NODE, -ERR_NODE_COUNT, -ERR_NODE_CONFIG, -ERR_FEATURE, -ERR_GRES, -ERR_LICENSE; 'out' is
 * unchanged then. */
int request_parse(const struct cluster *c, const Pb__JobSpec *s, struct parsed_request *out,
                  struct err *err);
void request_drop_licenses(struct parsed_request *p);
void request_parsed_done(struct parsed_request *p);
/* Completes the request for that partition (NULL: for none) with the defaults of the partition and
 * the cluster. 'last': 'p' is not needed for another partition, and its content is moved. */
void request_complete(const struct cluster *c, const struct part *part, const Pb__JobSpec *s,
                      struct parsed_request *p, bool last, struct request *out);

/* The events of a job about which its owner gets mail. */
enum { /* --mail-type */
       JOB_MAIL_BEGIN = 1,
       JOB_MAIL_END = 2,
       JOB_MAIL_FAIL = 4,
       JOB_MAIL_REQUEUE = 8,
       JOB_MAIL_LIMIT = 16,
       JOB_MAIL_LIMIT_90 = 32,
       JOB_MAIL_LIMIT_80 = 64,
       JOB_MAIL_LIMIT_50 = 128,
       JOB_MAIL_TASKS = 256, /* for each element of an array; without it for the array as a whole */
       JOB_MAIL_STAGE_OUT = 512,       /* the burst buffer is staged out and torn down */
       JOB_MAIL_INVALID_DEPEND = 1024, /* its dependency can never be met */
       JOB_MAIL_SHARES = JOB_MAIL_LIMIT_90 | JOB_MAIL_LIMIT_80 | JOB_MAIL_LIMIT_50,
};

/* A comma list of --mail-type; false: it has an unknown word. */
bool request_parse_mail(const char *list, unsigned *mail);
/* Appends the words of these events, as Slurm lists them; nothing for none. */
void request_format_mail(unsigned mail, struct str *out);
