/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Burst buffers (BurstBufferType=burst_buffer/lua): a job's buffer goes through the phases of
 * cluster/job/burst.def. burst.c moves it, burst_call.c calls the functions of the site's
 * burst_buffer.lua and knows the pools. The functions run in the helper process; each answer is a
 * message with the number of its call.
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
    uint32_t runs;                 /* the number of the last call of a function */
    uint32_t pools_run;            /* of slurm_bb_pools; 0: it does not run */
    bool pools_known;              /* since the controller started */
    bool elements_due;             /* elements of arrays may be next to have their data staged in */
    int64_t pools_due_mono_ms;     /* 0: never */
    VEC(struct burst_pool) pools;  /* in the order of the script */
    VEC(uint32_t) jobs;            /* ids of jobs with buffers, in order of submission */
    VEC(struct burst_call) status; /* that wait */
};

/* --- burst.c: phases ---------------------------------------------------------------------------
 */

/* A new job, with its request: what it asks for. -ERR_BURST, -ERR_BURST_ACCESS. */
int burst_begin_job(struct control *c, struct job *j, const Pb__JobSpec *spec, struct err *err);
/* The same, and nothing is begun. */
int burst_check(struct control *c, const struct job *j, const Pb__JobSpec *spec, struct err *err);
/* The lines of a pending job have changed, and were checked: what there is is torn down before. */
void burst_change(struct control *c, struct job *j);
/* The element has left the record of several. Its place in a queue for a pool is before these. */
void burst_join_split(struct control *c, const struct job *from, const struct job *element);
void burst_turn(struct control *c);                  /* elements of arrays that are next */
void burst_admit(struct control *c, struct job *j);  /* the job is stored, and about to be queued */
void burst_resume(struct control *c, struct job *j); /* after a restart, before anything else */
/* At the job's start; true: the job is configuring until slurm_bb_pre_run has ended. */
bool burst_start(struct control *c, struct job *j);
/* scancel --hurry of a job that has ended, whose data are staged out: false, there are none. */
bool burst_hurry(struct control *c, struct job *j);
/* Its record is needed, since its buffer is to be torn down. */
static inline bool burst_needs(const struct job *j)
{
    return burst_exists(j->burst);
}
int64_t burst_due_ms(const struct job *j); /* INT64_MAX: never */
void burst_due(struct control *c, struct job *j);
void burst_call_ended(struct control *c, struct job *j, const Pb__ScriptEnded *m);
/* Jobs that wait for room in a pool are looked at again. */
void burst_retry_waiting(struct control *c);
/* A subscriber of transitions: life/transition.def. */
void burst_job_over(struct control *c, const struct transition *t);

/* Gates of cluster/job/reason.def, and what comes before each: a failure is forgotten when an
 * administrator has released the job, so that everything begins anew; and when no gate before it is
 * closed, the data are staged in. */
void burst_forget_failure(struct control *c, struct job *j);
enum reason burst_failed_reason(const struct control *c, const struct job *j);
void burst_begin_stage_in(struct control *c, struct job *j);
enum reason burst_reason(const struct control *c, const struct job *j);

/* --- burst_call.c: functions and pools ----------------------------------------------------------
 */

/* Functions are called; otherwise each phase is over at once. */
bool burst_is_on(const struct control *c);
/* The function of the job's phase. */
void burst_call(struct control *c, struct job *j);
void burst_stop_call(struct control *c, const struct job *j);
void burst_ended(struct control *c, const Pb__ScriptEnded *m); /* any function */
/* What a function that decides on a submission is asked: everything but its number. script may be
 * empty. In the arena. */
Pb__ScriptRun *burst_make_question(const struct control *c, const struct job *j,
                                   const Pb__JobSpec *spec, const ProtobufCBinaryData *script,
                                   struct arena *arena);
const struct burst_pool *burst_find_pool(const struct control *c, const char *name, size_t len);
uint64_t burst_pool_used(const struct control *c, const char *name);
void burst_start_desk(struct control *c); /* at the start, and with another configuration */
void burst_tick(struct control *c);
void burst_desk_done(struct burst_desk *d);
bool burst_call_gone(struct control *c, uint64_t call);
