/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of a step that share a node of one job: one slurmstepd on the node starts the tasks of all
 * of them, and is launched with the first of these parts. A shell selects each task's program by
 * its rank; environment, binding and limits are those of the first part.
 */
#pragma once

#include "cmd/srun/run/run.h"

/* Whether a node, by its index in the step's layout, runs tasks of this part. */
bool shared_node_runs(const struct run *run, size_t node, uint32_t part);
/* Whether nodes that are launched with 'part' start tasks of 'other'. */
bool shared_starts(const struct run *run, uint32_t part, uint32_t other);
uint32_t shared_part_of_task(const struct run *run, uint32_t task);
/* Whether nodes that are launched with this part also start tasks of other parts. */
bool shared_has_others(const struct run *run, uint32_t part);
