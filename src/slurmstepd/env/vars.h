/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tasks find in their environment: the submitter's variables and, over them, SLURM_* of
 * job, step and task (see the manual pages of sbatch and srun).
 */
#pragma once

#include "base/envlist.h"
#include "proto/io.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/step.pb-c.h"

/* Variables of the job and of the step, the same for every task of this node. */
/* Of a job set, whose script this is, those of each component, too. Returns how many of
 * these were left out, see cluster/job/job_set_env.h. */
size_t vars_batch(struct envlist *env, const Pb__StepdStart *start, const Pb__LaunchBatch *batch,
                  const Pb__Cred *cred);
/* A step of a component has the id of the leader for its own, and a step of several components one
 * allocation: the nodes of all of them. */
void vars_step(struct envlist *env, const Pb__StepdStart *start, const Pb__LaunchTasks *launch,
               const Pb__Cred *cred);

/* Of one task; 'ids' are the ranks of every task of this node. */
void vars_task(struct envlist *env, uint32_t rank, uint32_t local, int pid, const uint32_t *ids,
               size_t count);
