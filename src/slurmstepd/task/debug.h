/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tasks for a parallel debugger: each runs its program and stands before the first instruction of
 * it, until srun sends SIGCONT or the debugger has attached itself. A child of ours traces them so
 * far, and leaves; srun hears of the tasks' start when it has.
 */
#pragma once

#include "slurmstepd/step/step.h"

bool debug_wanted(const struct step *step); /* while starting */

void debug_allow(void); /* in a task: it may be traced by a process beside it */

/* All tasks wait for leave, which they get by it. */
void debug_hold(struct step *step);
