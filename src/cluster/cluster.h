/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What exists: nodes, partitions, jobs and their steps, and the ledger of what is allocated where.
 * Other rooms read these structs; they change them only through the functions declared here. All
 * memory belongs to the cluster. Single-threaded; no clock, file or socket.
 */
#pragma once

#include "base/arena.h"
#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/alloc.h"
#include "cluster/array.h"
#include "cluster/begun.h"
#include "cluster/cores.h"
#include "cluster/depend_index.h"
#include "cluster/gres_held.h"
#include "cluster/idmap.h"
#include "cluster/job_record.h"
#include "cluster/mail.h"
#include "cluster/order.h"
#include "cluster/part.h"
#include "cluster/pool.h"
#include "cluster/request.h"
#include "cluster/resv.h"
#include "cluster/several.h"
#include "cluster/share.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"

#define CLUSTER_BATCH_STEP 0xfffffffbu
#define CLUSTER_NO_LIMIT_SEC                                                                       \
    (INT64_C(365) * 86400) /* how long the planner takes "unlimited" to be */

struct node_ghost { /* an attempt that is over and that the node may still have, or still begin */
    uint32_t job_id, restarts;
};

struct node_actual {                        /* what a node has said that it has; cpus 0: nothing */
    uint32_t cpus, sockets, cores, threads; /* by socket, by core */
    uint64_t mem_mib, tmp_mib;
};

struct unit_use { /* of a unit of a node where jobs share (OverSubscribe=YES and FORCE) */
    uint32_t jobs;
    const struct part *part; /* whose jobs it may be shared by; NULL: its job's alone */
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
    uint64_t mem_mib, tmp_mib;
    struct node_actual actual; /* with FastSchedule=0; kept, for jobs that need all of it */
    struct bitset *busy;       /* units in use */
    struct unit_use *use;      /* by unit; NULL while no job here shares */
    uint32_t free_units, jobs;
    VEC(uint32_t) holders; /* ids of these jobs, in the order in which they got it */
    uint32_t completing, completing_units; /* of the jobs, those that have ended */
    uint32_t parked; /* of the jobs, those that are suspended and hold no units */
    uint64_t used_mem_mib;
    VEC(struct gres_stock) gres;
    bool exclusive; /* one job has all of it */
    struct node_users users;

    bool dynamic; /* of a node that has registered itself, without a line in a file */
    bool connected, registered, down, admin_down, drain, fail, future;
    char *reason, *features, *comment, *extra, *incarnation;
    char *active; /* some of the features, perhaps none; NULL: all are active */
    uint32_t reason_uid, weight;
    int64_t reason_at, last_busy_at;
    bool weight_set, features_set;
    VEC(struct node_ghost) ghosts;
    struct str seen; /* the packed NodeRegister of its last registration */
    uint64_t free_mem_mib;
    uint32_t load_centi;
    struct order_link silence; /* in cluster.silent: DOWN when its time has come */
    struct str newer;          /* of its record, what only a newer version knows */
    bool dirty;                /* what must survive has changed */
};

struct alloc_node {
    uint32_t node, units, cpus, step_cpus; /* step_cpus: in use by steps that do not overlap */
    struct bitset *busy;                   /* which units */
    uint64_t mem_mib, step_mem_mib;        /* step: of the memory, what steps have asked for */
    bool released, touched;                /* touched: something may have run there */
    bool parked;                           /* suspended: its units are for others */
    bool halt_told;                        /* the last order to stop or to go on was carried out */
    VEC(struct gres_held) gres;
    uint64_t usage_seq; /* the last event whose use was counted */
    char *incarnation;
};

struct step_node {
    uint32_t at; /* index into the job's allocation */
    uint32_t cpus, tasks;
    uint64_t mem_mib;           /* that it asked for; 0: it shares the job's */
    VEC(struct gres_held) gres; /* the same; none: it sees all of the job's */
    bool ended;
};

struct step {
    uint32_t id;
    VEC(struct step_node) nodes;
    bool overlap, ending; /* ending: ordered to end, until its nodes say that it did */
    int exit_status;
    uint8_t request_id[16];
    struct str record; /* packed StepRecord, without: */
    struct str usage;  /* packed Usage, of the nodes where it has ended */
};

struct waiting_step {
    uint64_t call;
    struct str spec; /* packed StepSpec */
};

struct job_past { /* where a job has run that is over, and whose nodes are not all there any more */
    char *nodes, *batch_host;
    uint32_t num_nodes, num_cpus;
};

struct job {
    uint32_t id, restarts, uid, gid, next_step, cancelled_by, priority;
    enum _Pb__JobState state; /* only job_state.c writes it */
    bool completing, requeue_after, batch, held, admin_hold, launched, interactive_step, backfilled;
    bool may_requeue, no_kill, special_exit;
    bool trial;       /* --immediate: it starts in the first pass, or it never was */
    uint16_t mail;    /* JOB_MAIL_*: what its owner wants to be told */
    bool configuring; /* PrologSlurmctld is not known to have ended; its nodes are not used yet */
    bool epilog_due;  /* EpilogSlurmctld is not known to have ended; it is completing until then */
    int script;       /* of the site's, that runs for it now: enum _Pb__ScriptKind; 0: none */
    bool warn_batch, warned;    /* to the script alone; it was sent */
    bool switches_waived;       /* it has waited for them long enough */
    bool dirty;                 /* in cluster.dirty */
    bool lost_node, lost_first; /* of its record: nodes that are not configured now; its script's */
    struct job_past *past;      /* NULL: its nodes are all there */
    struct part *part;
    struct several *several; /* NULL: there is but one partition for it, or it runs */
    char *part_name;         /* of a partition that is no more; NULL: part is there */
    struct request want;
    int32_t nice;
    uint32_t task; /* its element of the array; of a group ARRAY_NO_TASK */
    struct job_rank rank;
    int64_t submit_at, eligible_at, begin_at, start_at, end_at, sched_at, expected_at,
        shown_sched_at; /* wall seconds; shown: as packed in 'live' */
    int64_t start_mono_ms,
        end_mono_ms; /* the same by the clock that cannot be set; 0: it did not */
    uint64_t boot;   /* that this clock counts from */
    int64_t suspended_sec, suspended_at; /* in all, up to now; when it was, or was resumed, last */
    int64_t ran_ms;                      /* before it was last suspended: its clock, while it is */
    int64_t preempted_at;                /* it was told to make room then; 0: it was not */
    int64_t grace_mono_ms;               /* and ends then; 0: at its limit */
    int64_t preempt_look_at; /* waiting: from then on it could displace more; 0: never mind */
    uint64_t prey_stamp;     /* pool.freed, when nobody's end would have made room for it */
    bool yielded;            /* in cluster.yielded */
    uint32_t halts;          /* how often it was suspended and resumed, in this attempt */
    int64_t limit_sec;       /* INT64_MAX: unlimited */
    int64_t time_min_sec, deadline_at; /* 0: none */
    const char *reason;                /* static words, or the stored one; NULL: None */
    char *stored_reason, *reason_detail;
    int exit_status, derived_status;
    VEC(struct alloc_node) alloc;
    VEC(struct step) steps;
    VEC(struct waiting_step) waiting_steps;
    VEC(uint64_t) end_calls;             /* of those who wait for its end */
    uint64_t alloc_call;                 /* of the one who waits for its allocation; 0: none */
    struct str *alloc_step;              /* packed StepSpec to be created with it; NULL: none */
    uint64_t request_key;                /* in cluster.requests; 0: none */
    int64_t limit_mono_ms;               /* when its time limit is over, when running */
    int64_t warn_mono_ms;                /* when --signal is due; 0: it is not, or was sent */
    uint32_t warn_signal, warn_sec;      /* --signal: so many seconds before the limit; 0: none */
    int64_t mail_mono_ms;                /* a share of its limit that is to be told; 0: none */
    int64_t repeat_mono_ms;              /* unanswered orders are sent again; 0: none */
    int64_t gone_mono_ms;                /* its waiter went away; 0: it did not */
    int64_t purge_mono_ms;               /* 0: not ended */
    struct str spec, live;               /* packed JobSpec and JobLive */
    struct str *usage;                   /* packed Usage, in 'live' too; NULL: none */
    struct job_newer *newer;             /* NULL: nothing */
    struct array *array;                 /* NULL: it is in none */
    struct idset tasks;                  /* a group: the elements that this record has */
    struct order_link of_array;          /* in array.records */
    struct resv *resv;                   /* it runs in; NULL: none */
    VEC(struct resv *) resvs;            /* while it waits: where it may run, in this order, */
    bool resv_asked, resv_gone;          /* and nowhere else; held because that one is no more */
    char *resv_name;                     /* it runs, or ran, in */
    int64_t resv_end_at;                 /* of that; 0: it may run on */
    struct order_link queued, due, ends; /* in part.queue, cluster.due, cluster.ends */
    int64_t switches_since; /* it could have started then, on more switches; 0: never yet */
    uint64_t unfit_stamp, ahead_stamp; /* plan.c: pool.freed, when it last did not fit, and when
                                          its start was last looked for */
    struct job_waits waits;            /* for other jobs; and its name */
    uint64_t stamp;                    /* of its last change */
};

struct cluster {
    const struct conf *conf;
    VEC(struct node *) nodes; /* index: that of the configuration */
    struct pool pool;         /* the same, as the planner reads them */
    struct topo *topo;        /* NULL: the network is flat */
    VEC(struct gres_kind) gres_kinds;
    VEC(struct part *) parts;    /* in order of the configuration */
    VEC(struct resv *) resvs;    /* in the order of their creation */
    VEC(struct job *) jobs;      /* by rising id, once all are loaded */
    VEC(struct array *) arrays;  /* by rising id */
    VEC(uint32_t) dirty_arrays;  /* ids of those with a record to be written */
    size_t folded;               /* elements in records of several, but for one of each */
    struct idmap requests;       /* ids of the jobs they made */
    VEC(uint32_t) dirty;         /* ids of jobs to be written at the end of the turn */
    struct order due;            /* jobs, by the monotonic time something must happen */
    struct order ends;           /* running jobs, by the wall time they end at the latest */
    struct order silent;         /* nodes that do not answer */
    struct depend_index waiting; /* who waits for whom */
    struct licenses licenses;
    struct begun begun;
    VEC(uint32_t)
    yielded; /* ids of jobs that make room for others: they end soon, or are suspended and
                go on by themselves */
    VEC(struct str)
    removed_parts; /* packed PartChange: lines of slurm.conf that scontrol removed */
    VEC(struct str)
    gone_nodes;     /* packed NodeRecord: what is kept of nodes that are not configured now */
    uint64_t stamp; /* rises with every change */
    size_t pending, running;
};

struct cluster *cluster_new(const struct conf *conf);
void cluster_free(struct cluster *c);

struct node *cluster_find_node(const struct cluster *c, const char *name);
struct part *cluster_find_part(const struct cluster *c, const char *name);
struct part *cluster_default_part(const struct cluster *c);
/* One that no line of slurm.conf defines, without nodes. */
struct part *cluster_add_part(struct cluster *c, const char *name);
/* No job that waits or runs may be in it; ended ones keep its name. */
void cluster_remove_part(struct cluster *c, struct part *p);
struct job *cluster_find_job(const struct cluster *c, uint32_t id);

/* Adds a job of this id; NULL when there is one. Ids normally rise. */
struct job *cluster_add_job(struct cluster *c, uint32_t id);
void cluster_remove_job(struct cluster *c, struct job *j);

/* The set of nodes an expression names; -ERR_NO_NODE names the unknown one. The caller frees. */
int cluster_node_set(const struct cluster *c, const char *expr, struct bitset **out,
                     struct err *err);

/* Marks it changed: written at the end of the turn, its listing rebuilt. */
void job_touch(struct cluster *c, struct job *j);

/* --- job.c: requests and records ------------------------------------------------------------- */

/* How long it may run, and when it is over at the latest if it begins then; one without a limit
 * after as long as the planner takes that to be. */
int64_t job_limit_sec(const struct job *j);
int64_t job_ends_at(const struct job *j, int64_t from);
/* Fills in what the planner needs from the spec; -ERR_NO_NODE, -ERR_NODE_COUNT. */
int job_read_spec(const struct cluster *c, struct job *j, const Pb__JobSpec *spec, struct err *err);
/* By its request and OverSubscribe of its partition (CORE-130 to 132): again when that changes. */
void job_set_sharing(const struct cluster *c, struct job *j);
void job_pack_live(const struct cluster *c, struct job *j); /* rebuilds j->live */
/* StepRecord bytes. */
void job_pack_step(const struct step *s, struct str *out);
void job_pack_record(const struct job *j, struct str *out); /* JobRecord bytes */
void job_format_nodes(const struct cluster *c, const struct job *j, struct str *out);
Pb__JobSpec *job_unpack_spec(const struct job *j, struct arena *arena);
uint32_t job_alloc_cpus(const struct job *j);
uint32_t job_nodes_left(const struct job *j); /* not released */
/* As its record says. One that names nodes which are not configured is changed: to be written. */
int job_restore(struct cluster *c, struct job *j, const Pb__JobRecord *record, struct err *err);

void job_step_done(struct step *s);
void job_forget_past(struct job *j);

/* --- job_state.c: the only writer of a job's state -------------------------------------------- */
bool job_state_may_become(enum _Pb__JobState from, enum _Pb__JobState to);
int job_set_state(struct cluster *c, struct job *j, enum _Pb__JobState to); /* -ERR_TRANSITION */
bool job_is_final(const struct job *j);
void job_load_state(struct cluster *c, struct job *j,
                    enum _Pb__JobState state); /* of a stored record */

/* --- node.c ----------------------------------------------------------------------------------- */
bool node_is_usable(const struct node *n);              /* new work may go there */
const char *node_active_features(const struct node *n); /* what jobs can ask for; NULL: none */
bool node_features_have(const char *features, const char *name, size_t len); /* a,b; or NULL */
void node_pack_stored(const struct node *n, struct str *out);                /* what must survive */
void node_restore(struct cluster *c, struct node *n, const Pb__NodeRecord *r);
/* With FastSchedule=0 jobs get what it registered where that is more. True: it has changed. */
bool node_take_actual(struct cluster *c, struct node *n, const Pb__NodeRegister *r);
void node_set_reason(struct node *n, const char *reason, uint32_t uid, int64_t at_sec);
/* From its row, or what it registered; nothing of it may be allocated. */
void node_count_units(const struct cluster *c, struct node *n);
