/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of the machine, visible to every file of this room. The functions of a file are
 * declared in its own header. Private state of a file is a pointer to a struct of that file's
 * header, which control_new() allocates: this header includes no other header of the room. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"
#include "sched/plan.h"

#define CONTROL_REPEAT_MS 5000 /* period of repeating unconfirmed orders to nodes */
/* The same for ending a step that may still be starting. */
#define CONTROL_REPEAT_STEP_MS 1000
/* Time that a pending allocation survives its command. */
#define CONTROL_WAITER_MS 30000
#define CONTROL_CRED_MS 120000 /* validity of a credential for a start */

struct burst_desk;
struct event_log;
struct news;
struct ranking;
struct step_owner;
struct triggers;
struct why_line;

struct node_dynamic { /* created by scontrol, see admin/node_dynamic.c */
    char *name, *keys;
    bool dynamic;
};

struct fresh {
    uint32_t job_id;
    uint64_t pass; /* control.passes when it was requested */
    char *said;    /* messages for its user, sent with the first reply; NULL: none */
};

struct aside { /* a job whose record was set aside */
    uint32_t job_id;
    bool given_up; /* nodes are ordered to end what is left of it */
};

struct control {
    struct conf *conf;
    const struct env *env;
    struct cluster *cluster;
    uint32_t next_id, reserved_id;  /* ids below reserved_id may be assigned */
    uint32_t given_id;              /* next_id in the last RECORD_META */
    uint64_t store_free;            /* see control_set_store_free() */
    int64_t largest_logged_mono_ms; /* see user_share.c; 0: never */
    uint32_t last_unallocated;      /* see unallocated.c */
    uint64_t epoch, turns;
    bool store_low, plan_wanted, started;
    bool preview;   /* a new configuration is only checked: nothing is written */
    size_t reboots; /* number of nodes with a requested reboot */
    /* wake_at_ms: given to env; resume_look_ms: for ResumeAfter; INT64_MAX: never. */
    int64_t wake_at_ms, resume_look_ms;
    const struct step_owner *step_owner;
    struct idmap calls; /* waiting calls, to the ids of their jobs */
    /* Users of waiting steps, see step.c; a hash table by uid. */
    struct waiting_user *waiting_users;
    struct plan plan;             /* while 'planning': a pass that takes several turns */
    struct plan_notes plan_notes; /* kept from one pass to the next */
    struct plan_starts planned;   /* of the last complete pass */
    uint64_t debug;               /* bits of enum conf_debug */
    bool sched_log;               /* decisions go to SlurmSchedLogFile */
    bool planning, plan_again;    /* plan_again: restarted once, so it runs to its end */
    int64_t next_mode_ms;         /* of two_mode.h: the next pass on the monotonic clock; 0: none */
    uint64_t passes, passes_done, plan_freed; /* plan_freed: pool.freed at the begin of the pass */
    bool forgetful;                           /* records of jobs are not written */
    void (*on_plan_dropped)(struct control *c); /* restarts queries about the queue */
    uint64_t plan_work;                         /* share of a pass per turn, in visited nodes */
    VEC(struct fresh) fresh; /* new requests for allocations, answered after the next pass */
    struct ranking *ranking;
    struct why_line *why;
    struct str said; /* messages of job_submit to the user of the present request */
    const struct job_set *set_ending; /* a set whose components are being ended together */
    const char *failed_node;          /* the node whose failure ends the present job; NULL: none */
    uint64_t nonce;                   /* of signals */
    bool announced;                   /* a shutdown is announced */
    int64_t shutdown_mono_ms;         /* time at which jobs are ended for it */
    bool shutdown_passed;             /* they were ended */
    bool shutdown_over;               /* it is complete, its record is deleted */
    int64_t start_mono_ms;            /* of this controller */
    int64_t slice_ends_ms;            /* of jobs that take turns, as stored, monotonic clock */
    uint32_t resv_number;             /* of the last reservation */
    VEC(struct node_dynamic) dynamic_nodes;
    VEC(struct aside) asides;
    VEC(uint32_t) ports_awaited; /* ids of jobs with steps that wait for ports */
    bool ports_freed;            /* in this turn */
    struct news *news;
    struct triggers *triggers;
    struct burst_desk *burst;
#define STATE(name) struct name *name;
#include "control/machine.def"
    struct event_log *events, *attempts; /* attempts: the archive */
    bool meta_read, lost; /* meta_read: RECORD_META was restored; lost: unknown records were lost */
    size_t records;       /* number of other restored records */
    struct log_limits log_limits; /* see control_log_limited() */
    struct str newer;             /* fields of StoreMeta that only a newer version knows */
    struct arena restored;        /* for the stored job being read; reused */
};

/* Whether the job has --immediate and has not started: it is neither stored nor shown. */
static inline bool control_is_on_trial(const struct job *j)
{
    return j->trial && j->state == PB__JOB_STATE__PENDING;
}

static inline int64_t control_wall_ms(const struct control *c)
{
    return c->env->wall_ms(c->env->ctx);
}
static inline int64_t control_wall(const struct control *c)
{
    return control_wall_ms(c) / 1000;
}
static inline int64_t control_mono(const struct control *c)
{
    return c->env->mono_ms(c->env->ctx);
}

static inline uint64_t control_boot(const struct control *c)
{
    return c->env->boot ? c->env->boot(c->env->ctx) : 0;
}
