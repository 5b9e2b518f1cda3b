/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of jobs: from running to ended, requeued and clean. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

void finish_job(struct control *c, struct job *j, enum _Pb__JobState state, int exit_status,
                enum reason reason, const char *why); /* why: for Terminate; NULL: a normal end */
/* Ended by itself with this status. */
void finish_ran(struct control *c, struct job *j, int status);
/* The job's script has ended. */
void finish_batch(struct control *c, struct job *j, int status);
void finish_node(struct control *c, struct job *j,
                 struct alloc_node *a); /* nothing of the job is left on the node */
void finish_node_failed(struct control *c, struct job *j,
                        uint32_t node); /* the node lost its part of the job */
/* Some nodes left the configuration; 'host': including the job's job_host(). The job ends, or
 * continues without them. */
void finish_without(struct control *c, struct job *j, bool host);
void finish_send_terminate(struct control *c, struct job *j, const struct alloc_node *a,
                           const char *why, uint32_t grace_sec);
void finish_send_terminate_to(struct control *c, struct job *j, const struct node *n,
                              const char *why, uint32_t grace_sec);
void finish_send_remaining(struct control *c, struct job *j, const char *why, uint32_t grace_sec);
/* Answers calls that wait for the end of the job. */
void finish_answer_waiters(struct control *c, struct job *j);
/* Rejects a call that waits for the job. */
void finish_refuse_ended(struct control *c, uint64_t call, const struct job *j);
void finish_requeue(struct control *c, struct job *j);
/* Requeues the job, if permitted, when it has ended; it starts no earlier than 'sec' seconds
 * later. */
void finish_requeue_later(struct control *c, struct job *j, int64_t sec);
/* The job has ended; it is clean when no node holds anything of it and no site script is left to
 * run. */
void finish_clean(struct control *c, struct job *j);
/* Returns when to purge the record of a job that ended ago_ms milliseconds ago; INT64_MAX:
 * never. */
int64_t finish_purge_ms(const struct control *c, int64_t ago_ms);
void finish_release_untouched(struct control *c, struct job *j);

/* Subscribers of transitions: life/transition.def. */
void finish_steps(struct control *c, const struct transition *t);
void finish_release_nodes(struct control *c, const struct transition *t);
void finish_tell_waiters(struct control *c, const struct transition *t);
