/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shepherd's side of its tasks: forking them, hearing that they are set up, letting them run
 * together, and noticing their ends. None runs unless all of this node can be set up.
 */
#pragma once

#include "slurmstepd/step/step.h"

void task_start_all(struct step *step);
void task_report_exit(struct task *t, int wait_status);

/* Wait statuses by how bad they are: the worse of the two. */
int task_worse(int a, int b);

void task_done(struct task *t);
