/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With --verbose: reports the allocation and the launches, in the lines that tools parse. */
#pragma once

struct run;

/* "jobid 10: nodes(2):`n[1-2]', cpu counts: 1(x2)": the nodes of the job, or those of the step if
 * only the step is known. */
void report_allocation(const struct run *run);

/* "launching StepId=12.0 on host n1, 2 tasks: [0-1]", one line per node. */
void report_launch(const struct run *run);
