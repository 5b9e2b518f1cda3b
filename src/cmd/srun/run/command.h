/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The commands of each part: run->commands. A shell selects each task's program if the programs
 * differ on a node, with --multi-prog or because parts share a node of one job: one slurmstepd on
 * the node then starts the tasks of all of them, and is launched with the first of these parts. The
 * shell selects each task's program by its rank; environment, binding and limits are those of the
 * first part.
 */
#pragma once

#include "base/err.h"
#include "cmd/srun/run/run.h"

/* From the options, or from the file of --multi-prog. */
int command_make(struct run *run, struct err *err);
/* Call after copying, which renames programs. A part whose nodes also start tasks of other parts
 * gets the commands of all of them. Returns -ERR_NOT_SUPPORTED if options of the parts are
 * incompatible. */
int command_join(struct run *run, struct err *err);

/* Whether a node, by its index in the step's layout, runs tasks of this part. */
bool shared_node_runs(const struct run *run, size_t node, uint32_t part);
/* Whether nodes that are launched with 'part' start tasks of 'other'. */
bool shared_starts(const struct run *run, uint32_t part, uint32_t other);
uint32_t shared_part_of_task(const struct run *run, uint32_t task);
/* Whether nodes that are launched with this part also start tasks of other parts. */
bool shared_has_others(const struct run *run, uint32_t part);
