/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With --verbose: what was granted and what is launched where, in the lines that tools read. */
#pragma once

struct run;

/* "jobid 10: nodes(2):`n[1-2]', cpu counts: 1(x2)": the job's nodes, or the step's when all that is
 * known is the step. */
void report_allocation(const struct run *run);

/* "launching StepId=12.0 on host n1, 2 tasks: [0-1]", a line for each node. */
void report_launch(const struct run *run);
