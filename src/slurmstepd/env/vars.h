/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of the tasks: the submitter's variables, overridden by the SLURM_* variables of
 * job, step and task (see the manual pages of sbatch and srun). Also formats the task layout, for
 * variables and for MPI.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/envlist.h"
#include "base/str.h"
#include "proto/io.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/step.pb-c.h"

/* Variables of the job and of the step, equal for every task of this node. */
/* For the script of a job set it also sets the variables of each component. Returns how many of
 * these were left out, see cluster/job/job_set_env.h. */
size_t vars_batch(struct envlist *env, const Pb__StepdStart *start, const Pb__LaunchBatch *batch,
                  const Pb__Cred *cred);
/* A step of a component gets the job id of the leader; a step of several components gets one
 * allocation with the nodes of all of them. */
void vars_step(struct envlist *env, const Pb__StepdStart *start, const Pb__LaunchTasks *launch,
               const Pb__Cred *cred);

/* Variables of one task; 'ids' are the ranks of all tasks on this node. */
void vars_task(struct envlist *env, uint32_t rank, uint32_t local, int pid, const uint32_t *ids,
               size_t count);

/* Appends "2(x3),1": task counts per node, with equal neighbours joined. */
void vars_format_counts(const uint32_t *counts, size_t nodes, struct str *out);

/* Appends MPICH's PMI_process_mapping, "(vector,(first node,nodes,tasks per node),...)", for tasks
   on nodes node_of[0..tasks-1]. Of a repeating sequence only one period is written, because
   readers repeat it. */
void vars_format_mapping(const uint32_t *node_of, size_t tasks, struct str *out);
