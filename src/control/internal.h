/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this room share: the machine's state, and the transitions they call in each
 * other. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"
#include "control/core/counters.h"
#include "control/core/log.h"
#include "control/event/event.h"
#include "control/event/job_event.h"
#include "control/event/trigger.h"
#include "control/life/aside.h"
#include "control/life/depend.h"
#include "control/life/gate.h"
#include "control/life/hook.h"
#include "control/life/mail.h"
#include "control/life/priority.h"
#include "control/life/ready.h"
#include "control/life/resv.h"
#include "control/life/split.h"
#include "control/life/transition.h"
#include "control/node/node.h"
#include "control/query/why.h"
#include "control/step/step.h"
#include "sched/plan.h"

#define CONTROL_ID_BLOCK 1000       /* job ids reserved on disk at a time */
#define CONTROL_REPEAT_MS 5000      /* unanswered orders to nodes are repeated */
#define CONTROL_REPEAT_STEP_MS 1000 /* to end a step that may only be starting */
#define CONTROL_WAITER_MS 30000     /* a pending allocation outlives its command by so much */
#define CONTROL_CRED_MS 120000      /* a credential may be used to start for so long */

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
    struct idmap calls;                 /* held calls to their jobs */
    struct waiting_user *waiting_users; /* see step_waiting.c; a hash table by uid */
    struct plan plan;                   /* while 'planning': a pass that rests between two turns */
    struct plan_notes plan_notes;       /* from one pass to the next */
    uint64_t debug;                     /* bits of enum conf_debug */
    bool planning, plan_again;          /* plan_again: it was begun anew, and goes on to its end */
    uint64_t passes, passes_done, plan_freed; /* plan_freed: pool.freed when it began */
    bool forgetful;                           /* records of jobs are not put out */
    uint64_t plan_work;                       /* a turn's share of a pass, in looks at a node */
    VEC(struct fresh) fresh; /* allocations asked for: answered when a pass has looked at them */
    struct ranking ranking;
    struct why_line why;
    struct str said;          /* by the site's job_submit, to the user of the present request */
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

/* control.c */
/* Answers with err_text(code), or the text of err when it has one. */
void control_refuse(struct control *c, uint64_t call, const struct err *err);
void control_refuse_code(struct control *c, uint64_t call, int code,
                         const char *detail); /* detail may be NULL */
/* The table's text of the code, and the detail behind it. Returns the negative code. */
int control_set_error(struct err *err, int code, const char *detail);
void control_done(struct control *c, uint64_t call);     /* replies Empty */
void control_schedule(struct control *c, struct job *j); /* its next deadline, from its state */
void control_hold(struct control *c, uint64_t call,
                  const struct job *j);                 /* it will be answered later */
void control_release(struct control *c, uint64_t call); /* about to be answered */
/* Whether it was called as late as it is when its process, or the machine, was stopped: silence
 * that nobody was there to hear does not count. Before wake_at_ms is set anew. */
void control_note_awake(struct control *c);
/* Seen, but not worth a write. detail: the sentence behind the word; may be NULL. */
void control_reason(struct control *c, struct job *j, enum reason reason, const char *detail);
/* Its end by the clock: its limit, and OverTimeLimit after that. */
void control_set_end(struct control *c, struct job *j);
/* Of its time limit, by the clock that cannot be set. */
int64_t control_left_sec(const struct control *c, const struct job *j);
void control_save_meta(struct control *c);
void control_save_node(struct control *c, struct node *n);
bool control_owns(const struct caller *who,
                  const struct job *j); /* owner, operator or administrator */

/* start.c */
void start_plan(struct control *c);
int64_t start_due_ms(const struct control *c); /* INT64_MAX: no pass is wanted */
bool start_backfills(const struct control *c); /* jobs may start before one that waits */
void start_drop_plan(struct control *c);       /* before partitions or the configuration change */
/* On the nodes that somebody has chosen. The decision stays the caller's. */
int start_placed(struct control *c, const struct decision *d, struct err *err);
void start_answer_fresh(struct control *c);
void start_send_batch(struct control *c, struct job *j);
Pb__NodeShare *start_pack_share(const struct control *c, const struct alloc_node *a,
                                struct arena *arena);
void start_send_prepare(struct control *c, struct job *j,
                        const struct alloc_node *a); /* with PrologFlags=Alloc */
void start_reply_alloc(struct control *c, struct job *j, uint64_t call, bool granted);
void start_make_cred(struct control *c, struct job *j, const Pb__StepRecord *step, struct str *cred,
                     uint8_t sig[64]);
/* cast.c: the answer, with a credential for files to these nodes. */
void cast_send_grant(struct control *c, uint64_t call, struct job *j, Pb__StepNode **nodes,
                     size_t count, struct arena *arena);

/* It has its nodes and may use them. */
void start_ready(struct control *c, struct job *j);
void start_configured(struct control *c, struct job *j); /* PrologSlurmctld ended well */
/* The first step of srun's own allocation, when there is none yet. False: the job has ended. */
bool start_step(struct control *c, struct job *j);

/* deadline.c */
int64_t deadline_needed_sec(const struct job *j); /* the least time that is of use to it */
/* Too late even for a start now. */
bool deadline_missed(const struct control *c, const struct job *j);
int64_t deadline_due_ms(const struct control *c, const struct job *j); /* when to look again */
/* A job that begins has no more time than is left. */
void deadline_limit(const struct control *c, struct job *j);
int deadline_check(const struct control *c, const struct job *j, struct err *err);

/* finish.c */
void finish_job(struct control *c, struct job *j, enum _Pb__JobState state, int exit_status,
                enum reason reason, const char *why); /* why: for Terminate, NULL: a normal end */
void finish_ran(struct control *c, struct job *j, int status); /* by itself, with this status */
/* Its script has. */
void finish_batch(struct control *c, struct job *j, int status);
void finish_node(struct control *c, struct job *j,
                 struct alloc_node *a); /* nothing of it is left there */
void finish_node_failed(struct control *c, struct job *j,
                        uint32_t node); /* the node lost its part */
/* Some nodes left the configuration; 'host': its job_host() too. It ends, or goes on without. */
void finish_without(struct control *c, struct job *j, bool host);
void finish_send_terminate(struct control *c, struct job *j, const struct alloc_node *a,
                           const char *why, uint32_t grace_sec);
void finish_send_terminate_to(struct control *c, struct job *j, const struct node *n,
                              const char *why, uint32_t grace_sec);
void finish_send_remaining(struct control *c, struct job *j, const char *why, uint32_t grace_sec);
/* Those who wait for its end. */
void finish_answer_waiters(struct control *c, struct job *j);
void finish_refuse_ended(struct control *c, uint64_t call, const struct job *j); /* it waits */
void finish_requeue(struct control *c, struct job *j);
/* When it ends, where it may be queued again, and not to begin before so much time has gone by. */
void finish_requeue_later(struct control *c, struct job *j, int64_t sec);
/* Ended; over when no node holds anything of it and no script of the site's is left to run. */
void finish_clean(struct control *c, struct job *j);
void finish_release_untouched(struct control *c, struct job *j);

/* shutdown.c */
int shutdown_restore(struct control *c, const void *data, size_t len, struct err *err);
void shutdown_resume(struct control *c);          /* after a restart, before its jobs are */
void shutdown_over(struct control *c);            /* it has come */
int64_t shutdown_due_ms(const struct control *c); /* INT64_MAX: nothing is */
void shutdown_tick(struct control *c);

/* cancel.c */
/* One who waits for the job's end hears messages until then, when it asks for them. */
void notify_await(struct control *c, struct job *j, uint64_t call, const Pb__JobIdRequest *r);
bool notify_listens(const struct job *j, uint64_t call); /* who waits by this call is such a one */
void notify_held_up(struct control *c, struct job *j);   /* what holds it up, while one waits */
void cancel_notify(struct control *c, struct job *j, int signo); /* all its steps */
void cancel_warn(struct control *c, struct job *j);              /* --signal: its time has come */
/* What is left of it ends everywhere. */
void cancel_step(struct control *c, struct job *j, struct step *s);
void cancel_repeat_steps(struct control *c,
                         struct job *j); /* ending steps, and scripts, are ordered to end again */
bool cancel_is_pending(const struct job *j);            /* there are such */
void cancel_restored(struct control *c, struct job *j); /* the same, after a restart */

/* inactive.c */
void inactive_look(struct control *c, struct job *j); /* who listens to it may be another */
int64_t inactive_due_ms(const struct control *c, const struct job *j); /* INT64_MAX: never */

/* suspend.c */
/* 0, or why not, for a person. */
int suspend_job(struct control *c, struct job *j, struct err *err);
int suspend_resume(struct control *c, struct job *j, struct err *err);
bool suspend_repeat(struct control *c, struct job *j); /* orders that are not confirmed */
bool suspend_is_pending(const struct job *j);          /* there are such */
void suspend_remind(struct control *c, struct job *j,
                    struct alloc_node *a); /* of the last order: the node has registered */
void suspend_halted(struct control *c, const struct node *n, const Pb__Halted *e);
void suspend_end(struct control *c, struct job *j);      /* it is about to end */
void suspend_restored(struct control *c, struct job *j); /* after a restart */

/* shrink.c */
/* The places in the allocation of a running job that go when it keeps these nodes, or (nodes: NULL)
 * the first 'count'; to be freed. Or why it can not be. */
int shrink_find(const struct control *c, struct job *j, const char *nodes, uint32_t count,
                struct bitset **out, struct err *err);
void shrink_job(struct control *c, struct job *j, const struct bitset *dropped);

/* preempt.c */
/* It makes room for the other one. */
void preempt_displace(struct control *c, struct job *j, const struct job *by);
void preempt_resume(struct control *c, struct job *j);
void preempt_restored(struct control *c, struct job *j); /* after a restart: its time of grace */

/* reconfig.c */
/* The packed NodeRecord of a node that is not configured now: it has it again when it is. */
void reconfig_keep_gone(struct cluster *c, const void *data, size_t len);
/* The new configuration takes the place of the old one, which node daemons do not read. */
void reconfig_swap(struct control *c, struct conf *conf);

/* made.c */
void made_free(struct control *c);
int made_restore(struct control *c, const void *data, size_t len, struct err *err);
/* After c->cluster was made: what the file has come to define is its own. report may be NULL. */
void made_settle(struct control *c, struct str *report);

/* reconfig_report.c */
/* Whether the job (of the old cluster) holds a node that the next one does not have; 'host': its
 * job_host(), too. */
bool reconfig_lost_node(const struct cluster *old, const struct cluster *next, uint32_t job_id,
                        bool *host);
/* Lines on hidden features and on jobs that are touched. c->cluster and c->conf are new. */
void reconfig_report(struct control *c, struct cluster *old, struct str *out);

/* update_part.c */
/* Its record was set aside: it starts nothing until somebody has looked at it. */
void update_part_down(struct control *c, const char *name);
int update_restore_part(struct control *c, const Pb__PartChange *r);
/* What was changed live, after a reconfiguration; adds to the report what the file overruled. */
void update_carry_parts(struct control *c, const struct cluster *from, struct str *report);
