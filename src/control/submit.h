/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request on its way to be a job: what is checked of it, when it is one, and its place in the
 * queue. submit.c, but for the last one.
 */
#pragma once

#include "control/internal.h"

/* Pending: into its queue, or out of it with a reason. */
void submit_enqueue(struct control *c, struct job *j);
/* Its priority when it states one; its time limit, or what the partition gives to those that state
 * none. */
void submit_fill_given(struct job *j, const Pb__JobSpec *spec);
int submit_check_limits(struct control *c, struct job *j, bool refuse, struct err *err);
/* Whether there may be so many jobs and elements more. */
int submit_check_count(const struct control *c, size_t more, struct err *err);
int submit_check_time_min(struct job *j, const Pb__JobSpec *spec, int64_t limit_sec,
                          struct err *err);
/* --cpu-freq as given, or NULL. -ERR_PARSE; -ERR_ACCESS: CpuFreqGovernors has not got it. */
int submit_check_freq(const struct control *c, const char *text, struct err *err);
int submit_check_possible(struct control *c, struct job *j, struct err *err);
/* How long it waits for few switches: no longer than max_switch_wait lets. */
void submit_fill_switches(const struct control *c, Pb__JobSpec *spec);
/* A submission seen before: the same job. NULL: it is new, and *key is that of its request. */
struct job *submit_find_repeated(struct control *c, const struct caller *who, bool batch,
                                 const Pb__JobSpec *spec, uint64_t *key);
/* A job that nobody knows yet; or ENV_SUBMIT_LATER. may_wait: it is accepted though it is unfit,
 * see struct job. */
int submit_make_job(struct control *c, const struct caller *who, const Pb__JobSpec *given,
                    const Pb__JobPayload *payload, bool may_wait, struct job **out,
                    struct err *err);
/* It is there to stay. */
void submit_remember(struct control *c, struct job *j, uint64_t key);
/* Of a job that nobody has been told of: its number is the next one's. */
void submit_forget(struct control *c, struct job *j);
/* Under which a repeated request is found: of the user whose job it is to be. 0 stands for none. */
uint64_t submit_request_key(const uint8_t id[16], uint32_t uid);

uint32_t submit_next_id(struct control *c); /* of a new job */
