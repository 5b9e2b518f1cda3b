/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shepherd's side of its tasks: forks them, receives their reports, lets them run together,
 * and notices their ends. No task runs unless all tasks of this node can be set up.
 */
#pragma once

#include "slurmstepd/step/step.h"

void task_start_all(struct step *step);
void task_report_exit(struct task *t, int wait_status);

/* Returns the worse of two wait statuses. */
int task_worse(int a, int b);

void task_done(struct task *t);
