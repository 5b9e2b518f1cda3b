/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends the launch request to all nodes of the step at the same time and collects the replies. With
 * --verbose reports the allocation and the launches, in the lines that tools parse.
 */
#pragma once

#include <stdint.h>

struct launch;
struct run;

/* Marks SLURM_DISTRIBUTION as a default, which an srun in a task ignores: both variables have the
 * same value. */
#define DISTRIBUTION_TOLD "SLUICE_DISTRIBUTION"

/* The step, the streams and the I/O port (peers) must exist. Failures are reported by
 * run->on->launch_failed(), never from within this call. */
struct launch *launch_start(struct run *run);
void launch_free(struct launch *l);

/* "jobid 10: nodes(2):`n[1-2]', cpu counts: 1(x2)": the nodes of the job, or those of the step if
 * only the step is known. */
void report_allocation(const struct run *run);
