/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When something must happen to a job: its end by the clock, and its next deadline. */
#pragma once

#include "cluster/job/job.h"

struct control;

void control_schedule(struct control *c, struct job *j); /* its next deadline, from its state */
/* Its end by the clock: its limit, and OverTimeLimit after that. */
void control_set_end(struct control *c, struct job *j);
/* What it has run: the time of a suspension does not count. */
int64_t control_ran_ms(const struct control *c, const struct job *j);
/* Its clock runs from now on; it has run so long. */
void control_start_clock(struct control *c, struct job *j, int64_t ran_ms);
/* Of its time limit, by the clock that cannot be set. */
int64_t control_left_ms(const struct control *c, const struct job *j);
/* Its place in the order of expected ends: it runs from now on, or is suspended for an unknown
 * time. */
void control_move_end(struct control *c, struct job *j);
