/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tasks for a parallel debugger: each task executes its program and stops before the first
 * instruction, until srun sends SIGCONT or the debugger attaches. A child process of ours traces
 * the tasks up to that point and then detaches; srun is told of the start of the tasks afterwards.
 */
#pragma once

#include "slurmstepd/step/step.h"

bool debug_wanted(const struct step *step); /* valid while starting */

void debug_allow(void); /* in a task: allows a process beside it to trace it */

/* All tasks wait for permission to start, which this function gives. */
void debug_hold(struct step *step);
