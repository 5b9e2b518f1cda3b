/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The variables that describe an allocation and a step (SLURM_*), and which variables describe the
 * job, step and task that a command runs in: a job that the command creates must not get those.
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

/* Appends counts per node, with equal neighbours combined: "2(x3),1". */
void jobenv_counts(const uint32_t *counts, size_t n, struct str *out);

/* Sets "CLUSTER:HOST:PORT:VERSION" of the job's cluster. */
void jobenv_cluster(struct envlist *e, const struct conf *conf);

/* Variables of the job, for the command of salloc, and for the tasks of srun with a new job. For a
 * job set: those of the first component, which is 'alloc', and then those of all components, as by
 * jobenv_components(). */
void jobenv_alloc(struct envlist *e, const struct Pb__AllocReply *alloc, const struct conf *conf);

/* Sets the number of components, and for each component, by its offset, the variables that
 * jobenv_alloc() sets: see cluster/job/job_set_env.h for the names, and for the variables that very
 * large jobs lack. Variables of another job set are removed; a single component is an ordinary job
 * and gets none. */
void jobenv_components(struct envlist *e, struct Pb__AllocReply *const *components, size_t count);

/* Variables of the step, which override those of the job; tasks of a new job get both. */
void jobenv_step(struct envlist *e, const struct Pb__StepReply *step);

/* The attempt of the job in which this process runs, by SLUICE_ATTEMPT; false: in no job, or in
 * another job. */
bool jobenv_attempt(uint32_t job_id, uint32_t *restarts);

/* The step (STEP_ID_BATCH: the script) whose signals this process gets, as a member of the process
 * group of one of its tasks; false: of none. */
bool jobenv_signalled_with(uint32_t *step_id);

/* Appends the nodes of a step as a host list expression. */
void jobenv_step_nodes(const struct Pb__StepReply *step, struct str *out);

/* Whether the variable describes a job, a step or a task. var: "NAME=VALUE"; name_len: the length
 * of its name. */
bool jobenv_is_of_job(const char *var, size_t name_len);
