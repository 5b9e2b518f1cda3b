/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An attempt: one run of a job, from its start, or its end where it never started, until the job is
 * queued again. It owns all that belongs to that run: times, allocation, steps, exit status and
 * what is pending for it. A requeue drops it, and nothing of it is left in the job.
 */
#pragma once

#include "base/bitset.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/index/order.h"
#include "cluster/job/license.h"
#include "cluster/job/notice.h"
#include "cluster/resource/amounts.h"
#include "cluster/resource/gres_held.h"

struct cluster;
struct job;
struct resv;

struct alloc_node {
    uint32_t node, units, cpus, step_cpus; /* step_cpus: in use by steps that do not overlap */
    struct bitset *busy;                   /* which units */
    struct bitset *step_busy; /* which CPUs such steps have; NULL: none yet (step_cpus.h) */
    struct amounts amounts;
    uint64_t step_mem_mib;  /* of the memory, what steps have asked for */
    bool released, touched; /* touched: something may have been launched there */
    bool ready;             /* it reported so, see control/life/ready.c */
    bool parked;            /* suspended: its units are for others */
    bool halt_told;         /* the last suspend or resume order was confirmed */
    bool held;              /* the resume order waits for others: suspend_hooks.holds_back */
    VEC(struct gres_held) gres;
    uint64_t usage_seq; /* the last event of the node whose usage was added */
    char *incarnation;
};

static inline uint64_t alloc_memory_mib(const struct alloc_node *a)
{
    return (uint64_t)a->amounts.mem_mib;
}

struct step_node {
    uint32_t at; /* index into the job's allocation */
    uint32_t cpus, tasks;
    uint32_t place;             /* in the layout of its record */
    struct bitset *own;         /* the step's CPUs */
    uint64_t mem_mib;           /* requested; 0: the step shares the job's memory */
    VEC(struct gres_held) gres; /* requested; none: the step sees all of the job's */
    bool ended;
};

struct step {
    uint32_t id;
    VEC(struct step_node) nodes;
    bool overlap, ending;              /* ending: ordered to end, until its nodes confirm the end */
    bool spares_others;                /* out of memory on one node does not end it on the others */
    bool asked;                        /* its nodes were asked whether they have the step */
    bool srun_in_script, srun_in_step; /* its srun has the signals of the batch script, or of the
                                          tasks of a step, and forwards them */
    int64_t made_mono_ms;              /* when it was created, or its record was restored */
    int64_t limit_run_ms; /* the run time of its job at which the controller ends it; 0: never */
    bool limit_by_srun;   /* its srun enforces its limit */
    bool timed_out;       /* it was ended because of that limit */
    int exit_status;
    uint8_t request_id[16];
    VEC32(uint16_t) ports; /* reserved for it, rising (step_nodes.h) */
    struct str record;     /* packed StepRecord, without what changes: exit_status, ending, where it
                              has ended, and */
    struct str usage;      /* packed Usage, of the nodes where it has ended */
};

struct waiting_step {
    uint64_t call;
    struct str spec; /* packed StepSpec */
};

struct attempt {
    struct job *job;
    int64_t start_at, end_at; /* wall seconds; 0: it has not */
    int exit_status, derived_status;
    uint32_t next_step, cancelled_by;
    VEC32(struct alloc_node) alloc;
    VEC32(struct step) steps;
    struct str *usage;                /* packed Usage, in 'live' too; NULL: none */
    struct resv *resv;                /* it runs in; NULL: none */
    VEC32(struct license_hold) holds; /* of tied pools */
    uint8_t script; /* of the site's, that runs for it now: enum _Pb__ScriptKind; 0: none */
    bool backfilled;
    bool configuring;       /* PrologSlurmctld has not ended yet; its nodes are not used before */
    bool readying;          /* configuring, and waiting until its nodes report ready */
    bool rebooting;         /* configuring, and its nodes were told to reboot */
    bool launched;          /* the start of its script was confirmed */
    bool interactive_step;  /* its one step is to be created, or was */
    bool had_shell;         /* a step STEP_ID_INTERACTIVE was created */
    bool warned;            /* --signal was sent */
    bool stopped;           /* by SIGSTOP of scancel, until SIGCONT: it keeps its CPUs */
    bool script_ending;     /* only its script is ordered to end, until its node confirms the end */
    bool requeue_after;     /* the job is requeued when this attempt is clean */
    bool completing;        /* ended; nodes or site scripts still work on it */
    bool epilog_due;        /* EpilogSlurmctld has not ended yet; completing until then */
    struct order_link ends; /* in cluster.ends */
    int64_t start_mono_ms, end_mono_ms;  /* by the monotonic clock; 0: not yet */
    int64_t start_wall_ms;               /* what the wall clock showed at start_mono_ms */
    uint64_t boot;                       /* the boot that this clock belongs to */
    int64_t suspended_sec, suspended_at; /* in all, up to now; the last suspend or resume */
    int64_t ran_ms;                      /* run time until it was last suspended */
    int64_t preempted_at;                /* when it was preempted; 0: it was not */
    int64_t grace_mono_ms;               /* end of its GraceTime; 0: it ends at its limit */
    int64_t limit_mono_ms;               /* when its time limit is reached */
    int64_t warn_mono_ms;                /* when --signal is due; 0: never, or it was sent */
    int64_t mail_mono_ms;                /* when the next TIME_LIMIT_xx mail is due; 0: none */
    int64_t repeat_mono_ms;              /* when unconfirmed orders are sent again; 0: none */
    int64_t unlaunched_mono_ms; /* nodes are asked for steps that none was told of; 0: none */
    int64_t purge_mono_ms;      /* when its record is purged; 0: not ended */
    int64_t left_mono_ms;       /* since when no srun or salloc is connected; 0: one is */
    char *resv_name;            /* the reservation it runs, or ran, in */
    int64_t resv_end_at;        /* the end of that reservation; 0: the job may exceed it */
    bool shrinking;             /* nodes are being removed from it now: no step begins */
    uint32_t halts;             /* how often it was suspended and resumed */
    uint64_t gang_place;        /* in the rotation of gang scheduling; 0: it takes no part */
    bool gang_suspended;        /* the rotation suspended it: its units stay its own */
    uint32_t host_at;           /* the place in alloc of its job_host() */
    VEC32(struct waiting_step) waiting_steps;
    VEC32(uint16_t) late_ports; /* of steps that ended with it, until its nodes are clean */
    char *held_up;              /* what delays it on which node, for people; NULL: nothing */
    struct notice_board *board; /* messages for its srun or salloc; NULL: none */
};

/* Whether gang scheduling has suspended it until its turn. */
static inline bool attempt_awaits_turn(const struct attempt *t)
{
    return t->gang_suspended;
}

/* The attempt of a job that has none; all members are 0. */
extern const struct attempt attempt_none;
/* Returns the attempt for changes; creates it if there is none. */
struct attempt *attempt_make(struct job *j);
/* Returns the run time without suspensions, by the monotonic clock of this boot. */
int64_t attempt_ran_ms(const struct job *j, int64_t now_mono_ms);
/* Whether the job runs, or is suspended by gang scheduling: its units stay its own. */
bool attempt_has_units(const struct job *j);
/* Whether the job is suspended for an unknown time: other jobs may use its units. */
bool attempt_is_parked(const struct job *j);
/* Whether gang scheduling has suspended the job: other jobs use the units that it shares with
 * them. */
bool attempt_stands_by(const struct job *j);
void attempt_drop(struct cluster *c, struct job *j);
