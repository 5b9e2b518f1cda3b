/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stages in which a request becomes a job (submit.c). Changes of a job and --test-only use some
 * of them, too.
 */
#pragma once

#include "control/internal.h"

/* --- a new job --------------------------------------------------------------------------------
 */

/* Finds the job of a repeated submission. NULL: the submission is new, and *key is the key of its
 * request. */
struct job *submit_find_repeated(struct control *c, const struct caller *who, bool batch,
                                 const Pb__JobSpec *spec, uint64_t *key);
/* Runs all stages except the last: creates a job that is not visible yet; or returns
 * ENV_SUBMIT_LATER. may_wait: it is accepted although it is unfit, see struct job. */
int submit_make_job(struct control *c, const struct caller *who, const Pb__JobSpec *given,
                    const Pb__JobPayload *payload, bool may_wait, struct job **out,
                    struct err *err);

/* Runs the last stage: stores and queues the job. */
void submit_admit(struct control *c, struct job *j, uint64_t key);
/* Removes the job instead: the next job gets its id. */
void submit_forget(struct control *c, struct job *j);
/* Returns the key that identifies a repeated request of the job's owner. 0: none. */
uint64_t submit_request_key(const uint8_t id[16], uint32_t uid);

/* --- stages ------------------------------------------------------------------------------------
 */

/* Asks the site's job_submit plugins about a submission or a change of a job (j; otherwise NULL).
 * *spec becomes their result, in the arena. payload may be NULL. Their messages to the user are in
 * c->said. ENV_SUBMIT_LATER: the request must leave no trace and gets no reply: it will be
 * submitted again. */
int submit_consult_plugins(struct control *c, const struct caller *who, const struct job *j,
                           const Pb__JobPayload *payload, Pb__JobSpec *spec, struct arena *arena,
                           struct err *err);
/* Whether 'more' jobs and elements may be added. */
int submit_check_count(const struct control *c, size_t more, struct err *err);
/* Sets the job's priority if given; its time limit, or the default of the partition; and its
 * request in its partitions. For 'keep' see job_set_request(). */
void submit_complete_job(const struct control *c, struct job *j, const Pb__JobSpec *spec,
                         struct parsed_request *parsed, bool keep);
/* Limits the time that the job waits for few switches to max_switch_wait. */
void submit_fill_switches(const struct control *c, Pb__JobSpec *spec);
int submit_check_time_min(struct job *j, const Pb__JobSpec *spec, int64_t limit_sec,
                          struct err *err);
/* EnforcePartLimits: whether to reject a job beyond the limits of its partitions: never, if no
 * partition accepts it, or if one partition does not. */
enum submit_enforce { SUBMIT_ENFORCE_NO, SUBMIT_ENFORCE_ANY, SUBMIT_ENFORCE_ALL };
enum submit_enforce submit_enforce_limits(const struct conf *conf);
int submit_check_possible(struct control *c, struct job *j, struct err *err);
/* Like submit_check_possible(), for a job that could have its licences: whether its partitions
 * accept it. */
int submit_check_partitions(struct control *c, struct job *j, struct err *err);
void submit_batch(struct control *c, uint64_t call, const struct caller *who,
                  const Pb__SubmitRequest *r);
