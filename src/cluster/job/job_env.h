/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment variables that describe a job's request: one table (job_env.def) for all programs
 * that build such an environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "proto/job.pb-c.h"

/* The node list of a job with -m arbitrary: srun in the job places one task on each entry in
 * turn. */
#define JOB_ENV_LIST "SLURM_ARBITRARY_NODELIST"

typedef void job_env_fn(void *ctx, const char *name, const char *value);

/* Calls put() for each variable that the request has. */
void job_env_each(const Pb__JobSpec *spec, job_env_fn *put, void *ctx);
/* Appends "cpu=2,gres/gpu:a100=2"; cpus 0: unknown. */
void job_env_tres(const char *gres, uint32_t cpus, struct str *out);
/* The resources of a node that tasks of a job may use; see JOB_ENV_NODE(). */
struct job_env_node {
    const char *name; /* borrowed */
    uint32_t cpus;
    Pb__GresAlloc *const *gres; /* borrowed */
    size_t n_gres;
};

/* Computes the number of tasks on each node of an allocation for a step with all tasks. 'packs':
 * fill one node before the next unless the job requests otherwise. Tasks beyond the CPUs and the
 * generic resources are dealt in turns. tasks 0: as many as fit. Limits by the memory of a step are
 * ignored. */
void job_env_spread(const Pb__JobSpec *spec, bool packs, const struct job_env_node *nodes, size_t n,
                    uint32_t tasks, uint32_t *out);
/* Returns the number of tasks that 'spec' names or implies; 'counted' is the controller's count. 0:
 * as many as fit on the CPUs, or --ntasks-per-node on each node. */
uint32_t job_env_tasks(const Pb__JobSpec *spec, uint32_t counted);
/* Calls put() for the variables about the tasks of all nodes if the request implies but does not
 * name them. */
void job_env_put_implied(const Pb__JobSpec *spec, const uint32_t *tasks, size_t nodes,
                         job_env_fn *put, void *ctx);
/* CPUs of a node that tasks of the job may use, from a NodeShare or a NodeAlloc. */
#define JOB_ENV_USABLE_CPUS(m) ((m)->has_usable_cpus ? (m)->usable_cpus : (m)->cpus)
#define JOB_ENV_NODE(m)                                                                            \
    ((struct job_env_node){(m)->node, JOB_ENV_USABLE_CPUS(m), (m)->gres, (m)->n_gres})
bool job_env_has(const char *name, size_t len); /* whether the table has this variable */
