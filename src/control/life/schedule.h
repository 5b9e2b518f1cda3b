/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deadlines of jobs: the end by the clock, InactiveLimit, --deadline (the time after which a job is
 * useless), and the next action.
 */
#pragma once

#include "cluster/cluster.h"
#include "cluster/job/job.h"
#include "control/control.h"

struct control;

/* Computes the next deadline from its state. */
void control_schedule(struct control *c, struct job *j);
/* Sets the end by the clock: its limit, and OverTimeLimit after that. */
void control_set_end(struct control *c, struct job *j);
/* Returns the run time; suspended time does not count. */
int64_t control_ran_ms(const struct control *c, const struct job *j);
/* Starts its clock with this run time. */
void control_start_clock(struct control *c, struct job *j, int64_t ran_ms);
/* Returns the rest of its time limit, by the monotonic clock. */
int64_t control_left_ms(const struct control *c, const struct job *j);
/* Updates its place in the order of expected ends: it runs from now on, or is suspended for an
 * unknown time. */
void control_move_end(struct control *c, struct job *j);

/* Called when its listeners may have changed. */
void inactive_look(struct control *c, struct job *j);
int64_t inactive_due_ms(const struct control *c, const struct job *j); /* INT64_MAX: never */

int64_t deadline_needed_sec(const struct job *j); /* the shortest useful run time of the job */
/* Whether even a start now would be too late. */
bool deadline_missed(const struct control *c, const struct job *j);
int64_t deadline_due_ms(const struct control *c, const struct job *j); /* time of the next check */
/* Limits the run time of a starting job to the time that is left. */
void deadline_limit(const struct control *c, struct job *j);
int deadline_check(const struct control *c, const struct job *j, struct err *err);
