/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tasks find in their environment: the submitter's variables and, over them, SLURM_* of
 * job, step and task (see the manual pages of sbatch and srun).
 */
#pragma once

#include "proto/io.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/step.pb-c.h"
#include "slurmstepd/step/envlist.h"

/* Variables of the job and of the step, the same for every task of this node. */
void vars_batch(struct envlist *env, const Pb__StepdStart *start, const Pb__LaunchBatch *batch,
                const Pb__Cred *cred);
void vars_step(struct envlist *env, const Pb__StepdStart *start, const Pb__LaunchTasks *launch,
               const Pb__Cred *cred);

/* Of one task; 'ids' are the ranks of every task of this node. */
void vars_task(struct envlist *env, uint32_t rank, uint32_t local, int pid, const uint32_t *ids,
               size_t count);
