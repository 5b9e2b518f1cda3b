/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Burst buffers (BurstBufferType=burst_buffer/lua): a job's buffer goes through the phases of
 * cluster/job/burst.def. burst.c performs the transitions; burst_call.c calls the functions of the
 * site's burst_buffer.lua and keeps the pools. The functions run in the helper process; each reply
 * is a message with the number of its call.
 */
#pragma once

#include "base/vec.h"
#include "cluster/cluster.h"
#include "cluster/job/burst.h"
#include "proto/burst.pb-c.h"
#include "proto/script.pb-c.h"

struct caller;
struct control;

struct burst_pool {
    char *name;
    uint64_t total, granularity;
};

struct burst_call { /* scontrol show bbstat */
    uint64_t call;
    uint32_t run;
};

struct burst_desk {
    uint32_t runs;                 /* number of the last function call */
    uint32_t pools_run;            /* number of the running call of slurm_bb_pools; 0: none */
    bool pools_known;              /* the pools were read since the controller started */
    bool elements_due;             /* array elements may be next to stage in their data */
    bool room_due;                 /* jobs that wait for a pool may have space in it */
    int64_t pools_due_mono_ms;     /* 0: never */
    VEC(struct burst_pool) pools;  /* in the order of the script */
    VEC(uint32_t) jobs;            /* ids of jobs with buffers, in order of submission */
    VEC(struct burst_call) status; /* waiting calls */
};

/* --- burst.c: phases ---------------------------------------------------------------------------
 */

/* Initialises the burst buffer of a new job from its request. -ERR_BURST, -ERR_BURST_ACCESS. */
int burst_begin_job(struct control *c, struct job *j, const Pb__JobSpec *spec, struct err *err);
/* Whether the buffers of all components of a new job set together fit into the pools. -ERR_BURST.
 */
int burst_check_set(const struct control *c, const struct job *leader, struct err *err);
/* Checks changed lines of a pending job like burst_begin_job(). A component is also refused when
 * its set would then need more of a pool than the pool has and more than before. */
int burst_check_change(struct control *c, struct job *j, const Pb__JobSpec *spec, struct err *err);
/* The burst buffer lines of a pending job were changed and checked: tears down the existing buffer
 * first. */
void burst_change(struct control *c, struct job *j);
/* An array element has left its group record. Its place in the queue for a pool is before the
 * group. */
void burst_join_split(struct control *c, const struct job *from, const struct job *element);
void burst_turn(struct control *c); /* starts staging for the next array elements, and others */
void burst_admit(struct control *c, struct job *j);  /* the job is stored and about to be queued */
void burst_resume(struct control *c, struct job *j); /* after a restart, before anything else */
/* Called at the job's start; true: the job is configuring until slurm_bb_pre_run has ended. */
bool burst_start(struct control *c, struct job *j);
/* scancel --hurry for an ended job whose data are being staged out; false: nothing is staged
 * out. */
bool burst_hurry(struct control *c, struct job *j);
/* Whether the job's record is still needed because its buffer must be torn down. */
static inline bool burst_needs(const struct job *j)
{
    return burst_exists(j->burst);
}
int64_t burst_due_ms(const struct job *j); /* INT64_MAX: never */
void burst_due(struct control *c, struct job *j);
void burst_call_ended(struct control *c, struct job *j, const Pb__ScriptEnded *m);
/* Retries jobs that wait for space in a pool. */
void burst_retry_waiting(struct control *c);
/* A subscriber of transitions: life/transition.def. */
void burst_job_over(struct control *c, const struct transition *t);

/* Gates of cluster/job/reason.def, and the actions before each gate: a failure is cleared when an
 * administrator has released the job, so that the buffer starts over; the data are staged in when
 * no earlier gate is closed. */
void burst_forget_failure(struct control *c, struct job *j);
enum reason burst_failed_reason(const struct control *c, const struct job *j);
void burst_begin_stage_in(struct control *c, struct job *j);
enum reason burst_reason(const struct control *c, const struct job *j);

/* --- burst_call.c: functions and pools ----------------------------------------------------------
 */

/* Whether functions are called; otherwise each phase completes at once. */
bool burst_is_on(const struct control *c);
/* Calls the function of the job's phase. */
void burst_call(struct control *c, struct job *j);
void burst_stop_call(struct control *c, const struct job *j);
void burst_ended(struct control *c, const Pb__ScriptEnded *m); /* of any function */
/* Builds the call of a function that decides on a submission, without its number. script may be
 * empty. The result is in the arena. */
Pb__ScriptRun *burst_make_question(const struct control *c, const struct job *j,
                                   const Pb__JobSpec *spec, const ProtobufCBinaryData *script,
                                   struct arena *arena);
const struct burst_pool *burst_find_pool(const struct control *c, const char *name, size_t len);
uint64_t burst_pool_used(const struct control *c, const char *name);
void burst_start_desk(struct control *c); /* at the start, and after a reconfiguration */
void burst_tick(struct control *c);
void burst_desk_done(struct burst_desk *d);
bool burst_call_gone(struct control *c, uint64_t call);
