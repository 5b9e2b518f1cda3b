/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A job: its request, its state, what it holds and its steps. Part of the cluster; other rooms read
 * it, and change it only through the functions declared here and beside.
 */
#pragma once

#include "base/arena.h"
#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/array.h"
#include "cluster/depend_index.h"
#include "cluster/gres_held.h"
#include "cluster/job_record.h"
#include "cluster/mail.h"
#include "cluster/notice.h"
#include "cluster/order.h"
#include "cluster/part.h"
#include "cluster/request.h"
#include "cluster/resv.h"
#include "cluster/several.h"
#include "cluster/transition.h"
#include "proto/job.pb-c.h"

struct cluster;

#define CLUSTER_TIME_MAX_SEC INT64_C(253402300799) /* the end of the year 9999 */
#define CLUSTER_NO_LIMIT_SEC                                                                       \
    (INT64_C(365) * 86400) /* how long the planner takes "unlimited" to be */

struct alloc_node {
    uint32_t node, units, cpus, step_cpus; /* step_cpus: in use by steps that do not overlap */
    struct bitset *busy;                   /* which units */
    struct bitset *step_busy;       /* which CPUs such steps have; NULL: none yet (step_cpus.h) */
    uint64_t mem_mib, step_mem_mib; /* step: of the memory, what steps have asked for */
    bool released, touched;         /* touched: something may have run there */
    bool ready;                     /* it said so, see control/ready.c */
    bool parked;                    /* suspended: its units are for others */
    bool halt_told;                 /* the last order to stop or to go on was carried out */
    VEC(struct gres_held) gres;
    uint64_t usage_seq; /* the last event whose use was counted */
    char *incarnation;
};

struct step_node {
    uint32_t at; /* index into the job's allocation */
    uint32_t cpus, tasks;
    uint32_t place;             /* in the layout of its record */
    struct bitset *own;         /* which ones */
    uint64_t mem_mib;           /* that it asked for; 0: it shares the job's */
    VEC(struct gres_held) gres; /* the same; none: it sees all of the job's */
    bool ended;
};

struct step {
    uint32_t id;
    VEC(struct step_node) nodes;
    bool overlap, ending; /* ending: ordered to end, until its nodes say that it did */
    bool spares_others;   /* its end for memory on one node is no reason to end it on others */
    bool asked;           /* its nodes were, whether they have anything of it */
    int64_t made_mono_ms; /* when, or when the records were read */
    int64_t limit_run_ms; /* the run time of its job at which the controller ends it; 0: never */
    bool timed_out;       /* it was ended for that */
    int exit_status;
    uint8_t request_id[16];
    VEC32(uint16_t) ports; /* of its own, rising (step_ports.h) */
    struct str record;     /* packed StepRecord, without what changes: exit_status, ending, where it
                              has ended, and */
    struct str usage;      /* packed Usage, of the nodes where it has ended */
};

struct waiting_step {
    uint64_t call;
    struct str spec; /* packed StepSpec */
};

struct job_past { /* where a job has run that is over, and whose nodes are not all there any more */
    char *nodes, *batch_host;
    uint32_t num_nodes, num_cpus;
};

/* Of its attempt, from its start on; a job that has none is as one of zeroes. */
struct job_run {
    struct job *job;
    struct order_link ends;              /* in cluster.ends */
    int64_t start_mono_ms, end_mono_ms;  /* when, by the clock that cannot be set; 0: it did not */
    uint64_t boot;                       /* that this clock counts from */
    int64_t suspended_sec, suspended_at; /* in all, up to now; when it was, or was resumed, last */
    int64_t ran_ms;                      /* before it was last suspended: its clock, while it is */
    int64_t preempted_at;                /* it was told to make room then; 0: it was not */
    int64_t grace_mono_ms;               /* and ends then; 0: at its limit */
    int64_t limit_mono_ms;               /* when its time limit is over */
    int64_t warn_mono_ms;                /* when --signal is due; 0: it is not, or was sent */
    int64_t mail_mono_ms;                /* a share of its limit that is to be told; 0: none */
    int64_t repeat_mono_ms;              /* unanswered orders are sent again; 0: none */
    int64_t unlaunched_mono_ms; /* nodes are asked for steps that none was told of; 0: none */
    int64_t purge_mono_ms;      /* 0: not ended */
    int64_t left_mono_ms;       /* since when no srun or salloc listens; 0: one does */
    char *resv_name;            /* it runs, or ran, in */
    int64_t resv_end_at;        /* of that; 0: it may run on */
    bool shrinking;             /* its nodes are becoming fewer just now: no step begins */
    uint32_t halts;             /* how often it was suspended and resumed */
    uint32_t host_at;           /* the place in alloc of its job_host() */
    VEC32(struct waiting_step) waiting_steps;
    VEC32(uint16_t) late_ports; /* of steps that ended with it, until its nodes are clean */
    char *held_up;              /* by what on which node, for people; NULL: by nothing known */
    struct notice_board *board; /* messages to its srun or salloc; NULL: there is nothing */
};

struct job_counted { /* as a job is counted in cluster.holdings; jobs 0: it is not */
    uint32_t jobs, record, payload;
};

struct job_packed { /* of that very size: there is one of each job, and it seldom changes */
    uint8_t *data;
    uint32_t len;
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
    uint8_t script;   /* of the site's, that runs for it now: enum _Pb__ScriptKind; 0: none */
    bool warn_batch, warned;   /* to the script alone; it was sent */
    bool had_shell;            /* a step STEP_ID_INTERACTIVE was made in this attempt */
    bool script_ending;        /* its script alone is ordered to end, until its node says it did */
    bool switches_waived;      /* it has waited for them long enough */
    bool dirty;                /* in cluster.dirty */
    bool lost_node, lost_host; /* of its record: nodes that are not configured now; its host */
    bool yielded : 1;          /* in cluster.yielded */
    bool readying : 1; /* it is configuring, and its nodes are asked whether they are ready */
    bool resv_asked : 1, resv_gone : 1; /* see resvs; held because that one is no more */
    bool stopped : 1;  /* by SIGSTOP of scancel, until SIGCONT: it keeps its CPUs */
    bool is_unfit : 1; /* no nodes could serve it when it was accepted: checked before it is queued
                        */
    uint32_t auto_requeues; /* since somebody last released or requeued it */
    struct job_run *run;    /* NULL: it has not started since it was queued */
    struct job_past *past;  /* NULL: its nodes are all there */
    struct part *part;
    struct several *several; /* NULL: there is but one partition for it, or it runs */
    char *part_name;         /* of a partition that is no more; NULL: part is there */
    struct request want;
    int32_t nice;
    uint32_t task; /* its element of the array; of a group ARRAY_NO_TASK */
    struct job_rank rank;
    int64_t submit_at, eligible_at, begin_at, start_at, end_at, sched_at, expected_at,
        shown_sched_at;      /* wall seconds; shown: as packed in 'live' */
    int64_t preempt_look_at; /* waiting: from then on it could displace more; 0: never mind */
    uint64_t prey_stamp;     /* pool.freed, when nobody's end would have made room for it */
    int64_t limit_sec;       /* INT64_MAX: unlimited */
    int64_t time_min_sec, deadline_at; /* 0: none */
    const char *reason;                /* static words, or the stored one; NULL: None */
    char *stored_reason, *reason_detail;
    int exit_status, derived_status;
    VEC32(struct alloc_node) alloc;
    VEC32(struct step) steps;
    VEC32(uint64_t) end_calls;      /* of those who wait for its end */
    uint64_t alloc_call;            /* of the one who waits for its allocation; 0: none */
    struct str *alloc_step;         /* packed StepSpec to be created with it; NULL: none */
    uint64_t request_key;           /* in cluster.requests; 0: none */
    uint32_t warn_signal, warn_sec; /* --signal: so many seconds before the limit; 0: none */
    int64_t gone_mono_ms;           /* its waiter went away; 0: it did not */
    struct job_packed spec, live;   /* JobSpec and JobLive */
    uint32_t payload_bytes;         /* of its script and environment, in the store */
    uint32_t requester_uid;         /* whose request made it: not always whose job it is */
    struct job_counted counted;     /* in cluster.holdings */
    struct str *usage;              /* packed Usage, in 'live' too; NULL: none */
    struct job_newer *newer;        /* NULL: nothing */
    struct array *array;            /* NULL: it is in none */
    struct idset tasks;             /* a group: the elements that this record has */
    struct array_record *of_array;  /* in array.records; NULL: in none */
    struct resv *resv;              /* it runs in; NULL: none */
    VEC32(struct resv *)
    resvs;                         /* while it waits: where it may run, in this order, and
                                      with resv_asked nowhere else */
    struct order_link queued, due; /* in part.queue, cluster.due */
    int64_t switches_since;        /* it could have started then, on more switches; 0: never yet */
    uint64_t unfit_stamp, ahead_stamp; /* plan.c: pool.freed, when it last did not fit, and when
                                          its start was last looked for */
    struct job_waits waits;            /* for other jobs; and its name */
    uint64_t stamp;                    /* of its last change */
};

/* Marks it changed: written at the end of the turn, its listing rebuilt. */
void job_touch(struct cluster *c, struct job *j);

/* --- job.c ------------------------------------------------------------------------------------ */

/* How long it may run, and when it is over at the latest if it begins then; one without a limit
 * after as long as the planner takes that to be. */
int64_t job_limit_sec(const struct job *j);
int64_t job_ends_at(const struct job *j, int64_t from);
void job_format_nodes(const struct cluster *c, const struct job *j, struct str *out);
uint32_t job_alloc_cpus(const struct job *j);
uint32_t job_nodes_left(const struct job *j); /* not released */
void job_step_node_done(struct step_node *n);
void job_step_done(struct step *s);
void job_forget_past(struct job *j);

extern const struct job_run job_no_run;
static inline const struct job_run *job_run(const struct job *j)
{
    return j->run ? j->run : &job_no_run;
}
struct job_run *job_make_run(struct job *j); /* for changes of it; made when there is none */
/* The node of its script; of a job without one the first. It has nodes. */
static inline struct alloc_node *job_host(const struct job *j)
{
    return &j->alloc.data[job_run(j)->host_at];
}
/* Of its nodes the first one that --batch asks for, or else the first one. */
void job_choose_host(const struct cluster *c, struct job *j);
void job_forget_run(struct cluster *c, struct job *j);
struct job *job_of_end(struct order_link *link); /* of a link in cluster.ends; NULL for NULL */
/* Packs a message; what 'p' had is gone. */
void job_repack(struct job_packed *p, const ProtobufCMessage *m);
void job_packed_done(struct job_packed *p);

/* --- job_spec.c: its request ------------------------------------------------------------------ */

Pb__JobSpec *job_unpack_spec(const struct job *j, struct arena *arena);
/* Fills in what the planner needs from the spec; -ERR_NO_NODE, -ERR_NODE_COUNT. */
int job_read_spec(const struct cluster *c, struct job *j, const Pb__JobSpec *spec, struct err *err);
/* By its request and OverSubscribe of its partition (CORE-130 to 132): again when that changes. */
void job_set_sharing(const struct cluster *c, struct job *j);

/* --- job_pack.c, job_restore.c: its record ---------------------------------------------------- */

void job_pack_live(const struct cluster *c, struct job *j); /* rebuilds j->live */
/* StepRecord bytes. */
void job_pack_step(const struct step *s, struct str *out);
void job_pack_record(const struct job *j, struct str *out); /* JobRecord bytes */
/* As its record says. One that names nodes which are not configured is changed: to be written. */
int job_restore(struct cluster *c, struct job *j, const Pb__JobRecord *record, struct err *err);

/* --- job_state.c: the only writer of a job's state -------------------------------------------- */
bool job_state_may_become(enum _Pb__JobState from, enum _Pb__JobState to);
/* -ERR_TRANSITION. Everything that observers read of the job has to be set before: they are called
 * at once (transition.h), and may change the job further. */
int job_set_state(struct cluster *c, struct job *j, enum _Pb__JobState to,
                  enum transition_cause cause, const char *detail);
/* A new job was accepted, and is pending. */
void job_announce(struct cluster *c, struct job *j);
bool job_is_final(const struct job *j);
void job_load_state(struct cluster *c, struct job *j,
                    enum _Pb__JobState state); /* of a stored record */
