/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the log and the job completion store are told of a job. */
#pragma once

#include "cluster/cluster.h"
#include "conf/conf_words.h"
#include "control/control.h"

enum job_event {
#define JOB_EVENT(id, word, fields) JOB_EVENT_##id,
#include "control/event/job_event.def"
#undef JOB_EVENT
};

/* A request to queue the job again, of this user. */
void job_event_requeue_requested(struct control *c, const struct job *j, uint32_t uid);
/* A cancellation keeps a job that has ended away from the queue: a line of the log, and a
 * completion record behind that of the state REQUEUED. */
void job_event_requeue_withdrawn(struct control *c, const struct job *j);
/* "after NodeDown on n1": what the log says of the attempt that a requeue is about to forget. The
 * caller frees it. */
char *job_event_describe_attempt(const struct control *c, const struct job *j);

/* Detail for DebugFlags; nothing is formatted unless the flag is set. */
#define control_debug(c, id, ...)                                                                  \
    (control_debug_wants((c), CONF_DEBUG_##id)                                                     \
         ? control_debug_log((c), CONF_DEBUG_##id, __VA_ARGS__)                                    \
         : (void)0)
bool control_debug_wants(const struct control *c, enum conf_debug flag);
void control_debug_log(struct control *c, enum conf_debug flag, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What the scheduler decides, for SlurmSchedLogFile; nothing is formatted while that is off. */
#define control_sched(c, ...)                                                                      \
    (control_get_sched_log(c) ? control_sched_log((c), __VA_ARGS__) : (void)0)
void control_sched_log(struct control *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Subscribers of transitions: life/transition.def. */
void job_event_log(struct control *c, const struct transition *t);
void job_event_record(struct control *c, const struct transition *t);
