/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment variables that say what a job has asked for: one table (job_env.def) for all who
 * make such an environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "proto/job.pb-c.h"

/* The list of a job with -m arbitrary: srun in the job gives each name a task in turn. */
#define JOB_ENV_LIST "SLURM_ARBITRARY_NODELIST"

typedef void job_env_fn(void *ctx, const char *name, const char *value);

/* Those that are given. */
void job_env_each(const Pb__JobSpec *spec, job_env_fn *put, void *ctx);
/* Appends "cpu=2,gres/gpu:a100=2"; cpus 0: not given. */
void job_env_tres(const char *gres, uint32_t cpus, struct str *out);
/* What tasks of a job may use of a node; see JOB_ENV_NODE(). */
struct job_env_node {
    const char *name; /* borrowed */
    uint32_t cpus;
    Pb__GresAlloc *const *gres; /* borrowed */
    size_t n_gres;
};

/* How many tasks each node of an allocation would run, as a step of all tasks has them; 'packs':
 * one node is filled before the next unless the job says otherwise. More tasks than the CPUs and
 * the generic resources take are dealt in turns. tasks 0: the number that they take. Limits that a
 * step also has by its memory are not followed. */
void job_env_spread(const Pb__JobSpec *spec, bool packs, const struct job_env_node *nodes, size_t n,
                    uint32_t tasks, uint32_t *out);
/* How many tasks 'spec' names or implies, of which 'counted' is the controller's count. 0: as many
 * as the CPUs of its nodes take, or --ntasks-per-node on each. */
uint32_t job_env_tasks(const Pb__JobSpec *spec, uint32_t counted);
/* Those of all nodes, where the request implies them without naming them. */
void job_env_put_implied(const Pb__JobSpec *spec, const uint32_t *tasks, size_t nodes,
                         job_env_fn *put, void *ctx);
/* CPUs of a node that tasks of the job may use; of a NodeShare or a NodeAlloc. */
#define JOB_ENV_USABLE_CPUS(m) ((m)->has_usable_cpus ? (m)->usable_cpus : (m)->cpus)
#define JOB_ENV_NODE(m)                                                                            \
    ((struct job_env_node){(m)->node, JOB_ENV_USABLE_CPUS(m), (m)->gres, (m)->n_gres})
bool job_env_has(const char *name, size_t len); /* whether there is such a variable */
