/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A node: what it has by its configuration and as it has reported, who uses it, and what
 * administrators want of it. Part of the cluster; other rooms read it.
 */
#pragma once

#include "base/bitset.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/index/order.h"
#include "cluster/node/pool.h"
#include "cluster/resource/amounts.h"
#include "cluster/resource/gres.h"
#include "conf/conf.h"
#include "proto/node.pb-c.h"

struct cluster;
struct part;

struct node_orphan { /* an attempt that is over and that the node may still have, or still begin */
    uint32_t job_id, restarts;
};

struct node_actual {                        /* what a node has reported; cpus 0: nothing */
    uint32_t cpus, sockets, cores, threads; /* by socket, by core */
    uint64_t mem_mib, tmp_mib;
};

enum node_reboot_phase { NODE_REBOOT_NONE, NODE_REBOOT_REQUESTED, NODE_REBOOT_ISSUED };

struct node_reboot { /* scontrol reboot; see control/report/reboot.h */
    enum node_reboot_phase phase;
    bool to_down, to_resume; /* what it is to be afterwards; neither: as before */
    bool drained;            /* the request has drained it */
    int64_t issued_at;       /* wall seconds */
    char *incarnation;       /* of the node when its daemon was told */
};

struct unit_use { /* of a unit of a node where jobs share (OverSubscribe=YES and FORCE) */
    uint32_t jobs;
    bool has_parts;          /* its jobs are of several partitions */
    bool is_restricted;      /* for jobs with GPUs only */
    const struct part *part; /* one of its jobs' partitions: share_may(); NULL: its job's alone */
};

struct node {
    uint32_t index;
    const char *name; /* of the configuration */
    const struct conf_node *conf;
    const struct conf_node_row *row;

    uint32_t cpus, units, cpus_per_unit; /* what is handed out: cores, or CPUs with CR_CPU */
    uint32_t sockets, cores, threads;    /* by socket, by core */
    uint32_t units_per_socket;           /* of the first ones; the last socket may have fewer */
    uint32_t spec_cpus;                  /* kept for the system, of no job */
    uint32_t *places;                    /* by unit: spec_place(); NULL: the last ones are kept */
    struct amounts amounts;
    uint64_t tmp_mib;
    uint64_t mem_spec_mib;     /* beside amounts.mem_mib, kept for the system */
    struct node_actual actual; /* with FastSchedule=0; kept, for jobs that need all of it */
    struct bitset *busy;       /* units in use */
    struct unit_use *use;      /* by unit; NULL while no job here shares */
    uint32_t free_units, jobs;
    bool squeezed;         /* units changed under its jobs: some have the same ones */
    VEC(uint32_t) holders; /* ids of these jobs, in the order in which they got it */
    uint32_t completing, completing_units; /* of the jobs, those that have ended */
    uint32_t parked;     /* of the jobs, those that are suspended and hold no units */
    struct amounts used; /* by jobs */
    VEC(struct gres_stock) gres;
    const struct gres_parts *parts; /* of its GPUs; NULL: none */
    struct bitset *restricted; /* units for jobs with GPUs only; NULL: none. See gres_cores.h */
    uint32_t restricted_per_gpu, restricted_kind;
    bool exclusive; /* one job has all of it */
    struct node_users users;

    bool dynamic;       /* of a node that has registered itself, without a line in a file */
    bool takes_attempt; /* orders to it may come with a NodeAttempt */
    bool connected, registered, down, admin_down, drain, fail, future;
    char *reason, *features, *comment, *extra, *incarnation;
    char *cpu_bind;        /* set by scontrol, "off": none; NULL: as configured */
    char *active;          /* some of the features, perhaps none; NULL: all are active */
    char *addr, *hostname; /* set by scontrol; NULL: as configured */
    char *topology;        /* its units, set by scontrol, "": none; NULL: as configured */
    struct node_reboot reboot;
    int64_t resume_at; /* wall seconds: resumed then; 0: never */
    uint32_t reason_uid, weight;
    int64_t reason_at, last_busy_at;
    bool weight_set, features_set;
    VEC(struct node_orphan) orphans;
    struct str seen; /* the packed NodeRegister of its last registration */
    uint64_t free_mem_mib;
    uint32_t load_centi;
    uint32_t announced; /* its NODE_IS_* as the event stream last told; see control/event/event.h */
    struct order_link silence; /* in cluster.unresponsive: DOWN when its time has come */
    bool overdue;              /* that time was over once, and the node is looked at again */
    struct str newer;          /* of its record, what only a newer version knows */
    bool dirty;                /* what must survive has changed */
};

bool node_is_usable(const struct node *n);       /* new work may go there */
bool node_is_mixed(const struct node *n);        /* jobs run on some of its CPUs */
const char *node_cpu_bind(const struct node *n); /* a word of CpuBind; NULL: none */
const char *node_addr(const struct node *n);     /* where its daemon is reached */
/* Of 'cpus' CPUs of whole cores, those that tasks use with 'use_threads' of each core; 0: all. */
uint32_t node_usable_cpus(const struct node *n, uint32_t cpus, uint32_t use_threads);
const char *node_bcast_addr(const struct node *n);
const char *node_hostname(const struct node *n);
const char *
node_topology(const struct node *n); /* TOPOLOGY:UNIT,..., "": none; NULL: by the file */
const char *node_active_features(const struct node *n); /* what jobs can ask for; NULL: none */
bool node_features_have(const char *features, const char *name, size_t len); /* a,b; or NULL */
void node_pack_stored(const struct node *n, struct str *out);                /* what must survive */
void node_restore(struct cluster *c, struct node *n, const Pb__NodeRecord *r);
/* With FastSchedule=0 jobs get what it registered where that is more. True: it has changed. */
bool node_take_actual(struct cluster *c, struct node *n, const Pb__NodeRegister *r);
void node_set_reason(struct node *n, const char *reason, uint32_t uid, int64_t at_sec);
/* From its row, or what it registered; nothing of it may be allocated. */
void node_count_units(const struct cluster *c, struct node *n);
