/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends the launch request to all nodes of the step at the same time and collects the replies.
 */
#pragma once

#include <stdint.h>

/* Marks SLURM_DISTRIBUTION as a default, which an srun in a task ignores: both variables have the
 * same value. */
#define DISTRIBUTION_TOLD "SLUICE_DISTRIBUTION"

struct run;
struct launch;

/* The step, the streams and the I/O port (peers) must exist. Failures are reported by
 * run->on->launch_failed(), never from within this call. */
struct launch *launch_start(struct run *run);
void launch_free(struct launch *l);
