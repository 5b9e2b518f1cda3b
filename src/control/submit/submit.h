/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stages in which a request becomes a job (submit.c), and those of them that a change of a job
 * and --test-only go through as well.
 */
#pragma once

#include "control/internal.h"

/* --- a new job --------------------------------------------------------------------------------
 */

/* A submission seen before: the same job. NULL: it is new, and *key is that of its request. */
struct job *submit_find_repeated(struct control *c, const struct caller *who, bool batch,
                                 const Pb__JobSpec *spec, uint64_t *key);
/* All stages but the last one: a job that nobody knows yet; or ENV_SUBMIT_LATER. may_wait: it is
 * accepted though it is unfit, see struct job. */
int submit_make_job(struct control *c, const struct caller *who, const Pb__JobSpec *given,
                    const Pb__JobPayload *payload, bool may_wait, struct job **out,
                    struct err *err);

/* The last stage: it is there to stay, and queued. */
void submit_admit(struct control *c, struct job *j, uint64_t key);
/* Instead: its number is the next one's. */
void submit_forget(struct control *c, struct job *j);
/* Under which a repeated request is found: of the user whose job it is to be. 0 stands for none. */
uint64_t submit_request_key(const uint8_t id[16], uint32_t uid);

/* --- stages ------------------------------------------------------------------------------------
 */

/* What the site's job_submit plugins say to a submission or a change of a job (j; else NULL). *spec
 * becomes what they make of it, in the arena. payload may be NULL. What they say to the user is in
 * c->said. ENV_SUBMIT_LATER: the request is to leave no trace, and gets no reply: it will come
 * again. */
int submit_consult_plugins(struct control *c, const struct caller *who, const struct job *j,
                           const Pb__JobPayload *payload, Pb__JobSpec *spec, struct arena *arena,
                           struct err *err);
/* Whether there may be so many jobs and elements more. */
int submit_check_count(const struct control *c, size_t more, struct err *err);
/* Its priority when it states one; its time limit, or what the partition gives to those that state
 * none; its request in its partitions. For 'keep' see job_set_request(). */
void submit_complete_job(const struct control *c, struct job *j, const Pb__JobSpec *spec,
                         struct parsed_request *parsed, bool keep);
/* How long it waits for few switches: no longer than max_switch_wait lets. */
void submit_fill_switches(const struct control *c, Pb__JobSpec *spec);
int submit_check_time_min(struct job *j, const Pb__JobSpec *spec, int64_t limit_sec,
                          struct err *err);
/* EnforcePartLimits: whether a job beyond the limits of its partitions is refused: never, when none
 * of them takes it, or when one of them does not. */
enum submit_enforce { SUBMIT_ENFORCE_NO, SUBMIT_ENFORCE_ANY, SUBMIT_ENFORCE_ALL };
enum submit_enforce submit_enforce_limits(const struct conf *conf);
int submit_check_possible(struct control *c, struct job *j, struct err *err);
/* The same, of a job that could have its licences: whether its partitions take it. */
int submit_check_partitions(struct control *c, struct job *j, struct err *err);
void submit_batch(struct control *c, uint64_t call, const struct caller *who,
                  const Pb__SubmitRequest *r);
