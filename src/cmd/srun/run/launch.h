/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells the nodes of the step to run its tasks, all at a time, and gathers their answers.
 */
#pragma once

#include <stdint.h>

/* Marks SLURM_DISTRIBUTION as a default, which an srun in a task ignores: both variables have the
 * same value. */
#define DISTRIBUTION_TOLD "SLUICE_DISTRIBUTION"

struct run;
struct launch;

/* The step, the streams and the I/O port (peers) are there. Failures go to
 * run->on->launch_failed(), never from within this call. */
struct launch *launch_start(struct run *run);
void launch_free(struct launch *l);
