/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What happens to a job set as a whole: its components are submitted together, start together
 * (start.c), and end with their leader.
 *
 * The end of the leader ends the others. So does the failure of a node of any component, and a
 * requeue: they return to the queue together, those included that had ended before. A component
 * that runs and is cancelled, or reaches its time limit, ends alone; one that waits and is ended,
 * by its deadline for example, ends all. Records stay until all have ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cluster/job/reason.h"
#include "proto/step.pb-c.h"

struct control;
struct job;
struct transition;

/* Of an operation for whole sets: -ERR_NOT_WHOLE_SET where the request names one component, by its
 * offset or its own id; -ERR_STORE_DAMAGED where the leader's record is lost. */
int set_check_whole(const struct control *c, const Pb__StepId *id, struct err *err);
void set_job_over(struct control *c, const struct transition *t); /* a subscriber */
/* Its record is needed by another component, which has not ended. */
bool set_needs(const struct job *j);
/* Whether none of its components is on its way back to the queue, where others are already:
 * -ERR_FINISHED, as for one that is. */
int set_check_settled(const struct job *leader, struct err *err);
/* Before a set returns to the queue: -ERR_FINISHED where a component, which may have ended long
 * before the others, has been purged. */
int set_check_complete(const struct job *leader, struct err *err);
/* Whether a component has been ended by its deadline: it does not return to the queue. */
bool set_missed_deadline(const struct job *j);
/* The data of one of its components are being staged out. */
bool set_stages_out(const struct job *leader);
/* Whether the job may return to the queue: as its leader may, which has the script, unless one of
 * its components cannot. */
bool set_may_requeue(const struct job *j);
/* How often the job has been queued again when it is once more. A component may be queued several
 * times, and be cancelled, before its leader's nodes are clean: they begin with the same number. */
uint32_t set_find_next_restarts(const struct job *j);
/* What a component shows while it waits: no word of its own, but what keeps its set. Not worth a
 * write. detail: the sentence behind the word; may be NULL. */
void set_show_reason(struct control *c, struct job *j, enum reason reason, const char *detail);
/* The word of a component for what another one waits for. A hold is shown by those alone that have
 * to be released; the others wait for them. */
enum reason set_reason_for(const struct job *j, enum reason reason);
/* The planner does not look at a set whose leader is in no queue: the word of a component then.
 * REASON_NONE: its leader is queued. */
enum reason set_find_reason(const struct job *j);
/* A job has left the queue for a reason of its own: the leader of a set shows it with the
 * components. */
void set_tell_reason(struct control *c, struct job *j);
/* The job is queued, or its priority is another: its set is queued as
 * conf_sets_rank_by() says, and what was known of the whole set no longer holds. */
void set_queued(struct control *c, struct job *j);
/* The same for its priority alone. */
void set_ranked(struct control *c, struct job *j);
/* The own id of a component means its whole set. */
bool set_is_meant_whole(const struct control *c);
/* Magnetic reservations do not draw the job. */
bool set_is_not_drawn(const struct control *c, const struct job *j);

/* The gate of a component while another one of its set has no record, because the store was
 * damaged: the set cannot start. */
enum reason set_gate_missing(const struct control *c, const struct job *j);
/* Of a set whose records are not all there: -ERR_STORE_DAMAGED, and which component is missing. */
int set_refuse_missing(const struct job *j, struct err *err);
/* The same as the sentence behind the job's reason. */
void set_name_missing(struct job *j);
/* A job whose record was set aside is over: if it was the leader of a set, the others end. */
void set_leader_gone(struct control *c, uint32_t leader_id);
/* Whether its set is in the queue, or on its way there; of an ordinary job, too. */
bool set_waits(const struct job *j);
/* The job has ended, and was to return to the queue: it does not, and the other components of its
 * set do not either. */
void set_keep_away(struct control *c, struct job *j, uint32_t cancelled_by);
/* The other components of a set whose leader was ended before its turn to return to the queue: each
 * that has ended returns, too. */
void set_requeue(struct control *c, struct job *leader);
