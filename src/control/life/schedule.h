/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When something must happen to a job: its end by the clock, and its next deadline. */
#pragma once

#include "cluster/job/job.h"

struct control;

void control_schedule(struct control *c, struct job *j); /* its next deadline, from its state */
/* Its end by the clock: its limit, and OverTimeLimit after that. */
void control_set_end(struct control *c, struct job *j);
/* Of its time limit, by the clock that cannot be set. */
int64_t control_left_sec(const struct control *c, const struct job *j);
