/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SLURM_* variables that describe an allocation and a step.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/envlist.h"
#include "base/str.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"

/* Numbers per node, equal neighbours together: "2(x3),1". */
void jobenv_counts(const uint32_t *counts, size_t n, struct str *out);

/* "CLUSTER:HOST:PORT:VERSION": where the cluster is that the job is of. */
void jobenv_cluster(struct envlist *e, const struct conf *conf);

/* Of the job: what salloc gives to its command, and srun of a new job to its tasks. Of a
 * job set: of the first component, which 'alloc' is, and then of all of them, as
 * jobenv_components() does. */
void jobenv_alloc(struct envlist *e, const struct Pb__AllocReply *alloc, const struct conf *conf);

/* The number of components, and of each component by its offset what jobenv_alloc() would set for
 * it alone: see cluster/job/job_set_env.h for the names, and for what is left out of very large
 * jobs. Those of another job set go away; one component is an ordinary job, and gets none. */
void jobenv_components(struct envlist *e, struct Pb__AllocReply *const *components, size_t count);

/* Of the step, over those of the job; a new job's tasks get both. */
void jobenv_step(struct envlist *e, const struct Pb__StepReply *step);

/* Which attempt of this job this process is part of, as SLUICE_ATTEMPT says; false: of none, or of
 * another job. */
bool jobenv_attempt(uint32_t job_id, uint32_t *restarts);

/* The nodes of a step as a host list expression. */
void jobenv_step_nodes(const struct Pb__StepReply *step, struct str *out);
