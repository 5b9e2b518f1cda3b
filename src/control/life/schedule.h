/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deadlines of jobs: the end by the clock, and the next action. */
#pragma once

#include "cluster/job/job.h"

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
