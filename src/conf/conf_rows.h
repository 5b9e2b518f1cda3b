/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the lines of nodes, partitions and generic resources say. All texts are those of the
 * configuration, and live as long as it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>

#include "base/bitset.h"
#include "base/err.h"

#define CONF_UNLIMITED INT64_MAX /* a time or count limit that was not set or is UNLIMITED */

enum conf_node_state {
    CONF_NODE_UNKNOWN,
    CONF_NODE_DOWN,
    CONF_NODE_DRAIN,
    CONF_NODE_FAIL,
    CONF_NODE_FUTURE,
    CONF_NODE_CLOUD
};
enum conf_part_state { CONF_PART_UP, CONF_PART_DOWN, CONF_PART_DRAIN, CONF_PART_INACTIVE };
enum conf_oversubscribe { CONF_SHARE_NO, CONF_SHARE_YES, CONF_SHARE_FORCE, CONF_SHARE_EXCLUSIVE };
/* What several nodes have in common: one per NodeName line. Counts are the minima that a node must
 * register. */
struct conf_node_row {
    uint32_t cpus, boards, sockets, cores,
        threads; /* cores per socket, threads per core; all >= 1 after validation */
    uint64_t real_memory_mib, tmp_disk_mib; /* default 1 and 0, as in Slurm */
    uint64_t mem_spec_mib;                  /* of it, kept for the system */
    uint32_t core_spec_count;
    const char *cpu_spec_list; /* NULL: none */
    uint32_t weight;           /* default 1 */
    const char *features;      /* "a,b" or NULL */
    const char *gres, *reason, *comment, *extra, *arch, *cpu_bind, *topology;
    enum conf_node_state state;
    bool made; /* of a line that is in no file, see conf_load_with() */
    const char *file;
    int line;
};

#define CONF_GRES_NVIDIA 1u /* which variables tell a task its devices; none of these: all four */
#define CONF_GRES_AMD 2u
#define CONF_GRES_INTEL 4u
#define CONF_GRES_OPENCL 8u
#define CONF_GRES_NO_ENV 16u
#define CONF_GRES_COUNT_ONLY 32u
#define CONF_GRES_ONE_SHARING 64u /* parts of one GPU of a node are in use at a time */
#define CONF_GRES_ALL_SHARING 128u
#define CONF_GRES_EXPLICIT 256u  /* jobs with whole nodes get it only where they ask for it */
#define CONF_GRES_ENV_UUID 512u  /* without effect */
#define CONF_GRES_SHARED_GPUS 16 /* of a node with mps or shard at most */

struct conf_gres_device {
    const char *file;  /* NULL: none is known */
    const char *cores; /* "0-3,8", of the node, that are near; NULL: any */
    const char **also; /* MultipleFiles: further files of the same device */
    uint32_t n_also;
    const int32_t *links; /* connections to the devices of the name by number; NULL: none known */
    uint32_t n_links, number; /* where its -1 is: its own number */
};

struct conf_gres {           /* so many of a kind of generic resource */
    const char *name, *type; /* type NULL: none */
    uint64_t count;
    unsigned flags;                   /* CONF_GRES_* */
    struct conf_gres_device *devices; /* of gres.conf, the first ones of the count */
    size_t n_devices;
    uint64_t *parts; /* of mps and shard: the entries on each GPU of the node, in the set's order */
    size_t n_parts;  /* 0: the entries are of no GPU */
};

/* A GPU of any type; names of kinds are read in any case. */
static inline bool conf_gres_is_gpu(const char *name)
{
    return strcasecmp(name, "gpu") == 0;
}

struct conf_gres_set {
    struct conf_gres *items;
    size_t len;
};

struct conf_node {
    const char *name, *hostname,
        *addr;              /* NodeHostname and NodeAddr default to the name, the hostname */
    const char *bcast_addr; /* where receivers of files listen; default NodeAddr */
    uint16_t port;          /* of its slurmd; default SlurmdPort */
    uint32_t row;           /* index into conf.node_rows */
    uint32_t gres;          /* index into conf.gres_sets; 0: it has none */
};

struct conf_part {
    const char *name;
    const char *nodes;       /* the expression as written, "ALL" included; never NULL */
    struct bitset *node_set; /* the same over node indexes; NULL with CONF_CLIENT */
    bool is_default, hidden, root_only, key, exclusive_user, lln, disable_root, exclusive_topo,
        power_down_on_idle, req_resv;
    enum conf_part_state state;
    uint64_t key_number; /* set live: another one, another key */
    enum conf_oversubscribe share;
    uint32_t share_max; /* jobs per resource: YES:n and FORCE:n, default 4; else 1 */
    int64_t max_time_sec,
        default_time_sec;          /* CONF_UNLIMITED; default_time 0: NONE, use the maximum */
    uint32_t max_nodes, min_nodes; /* UINT32_MAX: UNLIMITED */
    uint32_t max_cpus_per_node, max_cpus_per_socket; /* UINT32_MAX: UNLIMITED */
    uint32_t priority_tier, priority_job_factor;     /* default 1 */
    uint32_t def_cpu_per_gpu;                        /* 0: unset */
    uint64_t def_mem_per_cpu_mib, def_mem_per_node_mib, max_mem_per_cpu_mib, max_mem_per_node_mib,
        def_mem_per_gpu_mib;                     /* 0: unset */
    int64_t over_time_limit_sec, grace_time_sec; /* -1: as the global key */
    const char *allow_groups, *allow_accounts, *allow_qos, *allow_alloc_nodes, *deny_accounts,
        *deny_qos;
    const char *alternate, *qos, *preempt_mode, *select_type_parameters, *tres_billing_weights,
        *job_defaults, *cpu_bind, *topology;
    const char *file;
    int line;
};

/* A partition that no line defines: every key at its default, no nodes. The name is borrowed. */
void conf_part_init(struct conf_part *p, const char *name);

/* NULL, or what is wrong with it: "holds no blanks...". */
const char *conf_part_name_fault(const char *name);
/* OverSubscribe= as it is written; NULL or "" changes nothing. */
int conf_part_set_share(struct conf_part *p, const char *text, struct err *err);
struct conf;
/* What is counted of nodes for jobs of the partition (NULL: for those of none): its
 * SelectTypeParameters, where that may replace the cluster's, decides about memory. */
bool conf_part_counts_memory(const struct conf *c, const struct conf_part *p);
/* Whether its jobs have whole sockets, where those of the cluster have cores. */
bool conf_part_gives_sockets(const struct conf *c, const struct conf_part *p);
/* Its SelectTypeParameters; NULL: it has none, or what it has is ignored. */
const char *conf_part_select_parameters(const struct conf *c, const struct conf_part *p);
/* Whether it is a word of CpuBind. */
bool conf_cpu_bind_known(const char *word);
/* NULL, or what is wrong with it as the PreemptMode of a partition; "" is the cluster's. */
const char *conf_part_preempt_fault(const struct conf *c, const char *mode);
/* PreemptMode: the words of a list of modes as they are shown. */
const char *conf_preempt_word(const char *mode);
