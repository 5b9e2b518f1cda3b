/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine's state, which every file of this room knows. What a file offers to others is in its
 * own header. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"
#include "control/core/counters.h"
#include "control/core/log.h"
#include "control/event/event.h"
#include "control/event/trigger.h"
#include "control/life/depend.h"
#include "control/life/priority.h"
#include "control/query/why.h"
#include "sched/plan.h"

#define CONTROL_REPEAT_MS 5000      /* unanswered orders to nodes are repeated */
#define CONTROL_REPEAT_STEP_MS 1000 /* to end a step that may only be starting */
#define CONTROL_WAITER_MS 30000     /* a pending allocation outlives its command by so much */
#define CONTROL_CRED_MS 120000      /* a credential may be used to start for so long */

struct step_owner;

struct made_node { /* in no file, see made.c */
    char *name, *keys;
    bool dynamic;
};

struct fresh {
    uint32_t job_id;
    uint64_t pass; /* passes begun when it was asked for */
};

struct aside { /* a job whose record was set aside */
    uint32_t job_id;
    bool given_up; /* what is left of it on nodes is ended */
};

struct control {
    struct conf *conf;
    const struct env *env;
    struct cluster *cluster;
    uint32_t next_id, reserved_id;  /* ids below reserved_id may be given */
    uint32_t given_id;              /* next_id when RECORD_META was last put */
    uint64_t store_free;            /* see control_set_store_free() */
    int64_t largest_logged_mono_ms; /* see user_share.c; 0: never */
    uint32_t last_unallocated;      /* see unallocated.c */
    uint64_t epoch, turns;
    bool store_low, plan_wanted, started;
    bool preview;                       /* of a configuration: nothing is written */
    int64_t wake_at_ms, resume_look_ms; /* what env was told; see ResumeAfter; INT64_MAX: never */
    const struct step_owner *step_owner;
    struct idmap calls;                 /* held calls to their jobs */
    struct waiting_user *waiting_users; /* see step_waiting.c; a hash table by uid */
    struct plan plan;                   /* while 'planning': a pass that rests between two turns */
    struct plan_notes plan_notes;       /* from one pass to the next */
    uint64_t debug;                     /* bits of enum conf_debug */
    bool planning, plan_again;          /* plan_again: it was begun anew, and goes on to its end */
    uint64_t passes, passes_done, plan_freed;   /* plan_freed: pool.freed when it began */
    bool forgetful;                             /* records of jobs are not put out */
    void (*on_plan_dropped)(struct control *c); /* for questions about the queue */
    uint64_t plan_work;                         /* a turn's share of a pass, in looks at a node */
    VEC(struct fresh) fresh; /* allocations asked for: answered when a pass has looked at them */
    struct ranking ranking;
    struct why_line why;
    struct str said; /* by the site's job_submit, to the user of the present request */
    const struct job_set *set_ending; /* its components are being ended with one of them */
    const char *failed_node;  /* for whose failure a job is being ended; NULL: for another reason */
    uint64_t nonce;           /* of signals */
    bool announced;           /* a shutdown is: */
    int64_t shutdown_mono_ms; /* when jobs are ended for it; */
    bool shutdown_passed;     /* or were */
    bool shutdown_over;       /* its record is gone: it has come */
    int64_t start_mono_ms;    /* of this controller */
    uint32_t resv_number;     /* of the last reservation */
    VEC(struct made_node) made;
    VEC(struct aside) asides;
    VEC(uint32_t) ports_awaited; /* ids of jobs with steps that wait for ports */
    bool ports_freed;            /* in this turn */
    struct news news;
    struct counters counters;
    struct triggers triggers;
    struct event_log events;
    bool meta_read, lost;         /* RECORD_META was restored; unknown records were lost */
    size_t records;               /* others that were restored */
    struct log_limits log_limits; /* see control_log_limited() */
    struct str newer;             /* of StoreMeta, what only a newer version knows */
    struct arena restored;        /* of the stored job being read; kept from one to the next */
};

/* Nobody has been told of it, and nothing of it is stored. */
static inline bool control_is_on_trial(const struct job *j)
{
    return j->trial && j->state == PB__JOB_STATE__PENDING;
}

static inline int64_t control_wall(const struct control *c)
{
    return c->env->wall_ms(c->env->ctx) / 1000;
}
static inline int64_t control_mono(const struct control *c)
{
    return c->env->mono_ms(c->env->ctx);
}

static inline uint64_t control_boot(const struct control *c)
{
    return c->env->boot ? c->env->boot(c->env->ctx) : 0;
}

/* due.c */
/* Whether it was called as late as it is when its process, or the machine, was stopped: silence
 * that nobody was there to hear does not count. Before wake_at_ms is set anew. */
void control_note_awake(struct control *c);
