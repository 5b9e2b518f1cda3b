/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Typed lines of nodes, partitions and generic resources. The configuration owns all strings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>

#include "base/bitset.h"
#include "base/err.h"

#define CONF_UNLIMITED INT64_MAX /* a time or count limit that is unset or UNLIMITED */

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
/* Properties shared by the nodes of a NodeName line. Counts are the minimum that a node must
 * register. */
struct conf_node_row {
    uint32_t cpus, boards, sockets, cores,
        threads; /* cores per socket, threads per core; all >= 1 after validation */
    uint64_t real_memory_mib, tmp_disk_mib; /* default 1 and 0, as in Slurm */
    uint64_t mem_spec_mib;                  /* part of real_memory_mib reserved for the system */
    uint32_t core_spec_count;
    uint32_t restricted_cores; /* per GPU, for jobs with GPUs only */
    const char *cpu_spec_list; /* NULL: none */
    uint32_t weight;           /* default 1 */
    const char *features;      /* "a,b" or NULL */
    const char *gres, *reason, *comment, *extra, *arch, *cpu_bind, *topology, *parameters;
    enum conf_node_state state;
    bool is_added; /* from an additional line, see conf_load_with() */
    const char *file;
    int line;
};

/* Selects the variables that tell a task its devices; no bit set: all four. */
#define CONF_GRES_NVIDIA 1u
#define CONF_GRES_AMD 2u
#define CONF_GRES_INTEL 4u
#define CONF_GRES_OPENCL 8u
#define CONF_GRES_NO_ENV 16u
#define CONF_GRES_COUNT_ONLY 32u
#define CONF_GRES_ONE_SHARING 64u /* at most one GPU of a node is shared at a time */
#define CONF_GRES_ALL_SHARING 128u
#define CONF_GRES_EXPLICIT 256u  /* jobs with whole nodes get it only if they request it */
#define CONF_GRES_ENV_UUID 512u  /* no effect */
#define CONF_GRES_SHARED_GPUS 16 /* maximum per node with mps or shard */

struct conf_gres_device {
    const char *file;  /* NULL: unknown */
    const char *cores; /* near cores of the node, "0-3,8"; NULL: any */
    const char **also; /* MultipleFiles: further files of the same device */
    uint32_t n_also;
    const int32_t *links; /* connections to the devices of that name, by number; NULL: unknown */
    uint32_t n_links, number; /* number: its own index, where links has -1 */
};

struct conf_gres {           /* a kind of generic resource and its count */
    const char *name, *type; /* type NULL: none */
    uint64_t count;
    unsigned flags;                   /* CONF_GRES_* */
    struct conf_gres_device *devices; /* from gres.conf, for the first ones of the count */
    size_t n_devices;
    /* For mps and shard: number of entries on each GPU of the node, in the set's order. */
    uint64_t *parts;
    size_t n_parts; /* 0: the entries belong to no GPU */
};

/* Whether it is a GPU of any type; resource names are case-insensitive. */
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
    const char *bcast_addr; /* address of broadcast receivers; default NodeAddr */
    uint16_t port;          /* of its slurmd; default SlurmdPort */
    uint32_t row;           /* index into conf.node_rows */
    uint32_t gres;          /* index into conf.gres_sets; 0: none */
};

struct conf_part {
    const char *name;
    const char *nodes;       /* the expression as written, including "ALL"; never NULL */
    struct bitset *node_set; /* the same as node indexes; NULL with CONF_CLIENT */
    bool is_default, hidden, root_only, key, exclusive_user, lln, disable_root, exclusive_topo,
        power_down_on_idle, req_resv;
    enum conf_part_state state;
    uint64_t key_number; /* set at run time; another number gives another access key */
    enum conf_oversubscribe share;
    uint32_t share_max; /* jobs per resource: n of YES:n and FORCE:n, default 4; otherwise 1 */
    int64_t max_time_sec,
        default_time_sec;          /* CONF_UNLIMITED; default_time 0: NONE, the maximum applies */
    uint32_t max_nodes, min_nodes; /* UINT32_MAX: UNLIMITED */
    uint32_t max_cpus_per_node, max_cpus_per_socket; /* UINT32_MAX: UNLIMITED */
    uint32_t priority_tier, priority_job_factor;     /* default 1 */
    uint32_t def_cpu_per_gpu;                        /* 0: unset */
    uint64_t def_mem_per_cpu_mib, def_mem_per_node_mib, max_mem_per_cpu_mib, max_mem_per_node_mib,
        def_mem_per_gpu_mib;                     /* 0: unset */
    int64_t over_time_limit_sec, grace_time_sec; /* -1: the global key applies */
    const char *allow_groups, *allow_accounts, *allow_qos, *allow_alloc_nodes, *deny_accounts,
        *deny_qos;
    const char *alternate, *qos, *preempt_mode, *select_type_parameters, *tres_billing_weights,
        *job_defaults, *cpu_bind, *topology;
    const char *file;
    int line;
};

/* Initialises a partition without nodes and with default values. The name is borrowed. */
void conf_part_init(struct conf_part *p, const char *name);

/* Returns NULL, or the error, "holds no blanks...". */
const char *conf_part_name_fault(const char *name);
/* Parses OverSubscribe; NULL or "" changes nothing. */
int conf_part_set_share(struct conf_part *p, const char *text, struct err *err);
struct conf;
/* Whether memory is allocated for jobs of the partition (NULL: for jobs without one): by its
 * SelectTypeParameters, if they may replace the cluster's. */
bool conf_part_counts_memory(const struct conf *c, const struct conf_part *p);
/* Whether its jobs get whole sockets where other jobs of the cluster get cores. */
bool conf_part_gives_sockets(const struct conf *c, const struct conf_part *p);
/* Its SelectTypeParameters; NULL: none, or ignored. */
const char *conf_part_select_parameters(const struct conf *c, const struct conf_part *p);
/* Whether the word is valid in CpuBind. */
bool conf_cpu_bind_known(const char *word);
/* Returns NULL, or the reason why the mode is invalid as a partition's PreemptMode; "" means the
   cluster's. */
const char *conf_part_preempt_fault(const struct conf *c, const char *mode);
/* PreemptMode as shown to users. */
const char *conf_preempt_word(const char *mode);
