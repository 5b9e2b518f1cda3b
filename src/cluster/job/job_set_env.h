/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The variables that tell a script and commands of the components of a heterogeneous job:
 * SLURM_HET_SIZE, and each variable that a job of one component alone would have, with
 * "_HET_GROUP_<offset>" behind its name. A component with a name has the same variables once more,
 * with "_HET_GROUP_<NAME>" in upper case. The names of Slurm before 20.02 go with them:
 * SLURM_PACK_SIZE, and "_PACK_GROUP_<offset>".
 *
 * A program cannot be started with an environment of any size, so these have at most
 * JOB_SET_ENV_MAX bytes. Where they would have more, they are left out in this order, of all
 * components alike: the former names; those with names of components; then all that do not say
 * which nodes and how many tasks, CPUs and how much memory there are; then all but the ids of the
 * jobs. A single one that Linux would not take is left out by itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cluster/job/job_env.h"

#define JOB_SET_ENV_SIZE "SLURM_HET_SIZE"
#define JOB_SET_ENV_GROUP "_HET_GROUP_"
#define JOB_SET_ENV_OLD_SIZE "SLURM_PACK_SIZE"
#define JOB_SET_ENV_OLD_GROUP "_PACK_GROUP_"

#define JOB_SET_ENV_MAX (512u << 10) /* bytes, with a pointer for each */
#define JOB_SET_ENV_ONE (128u << 10) /* bytes of one, which Linux has as MAX_ARG_STRLEN */

struct job_set_env {   /* of one component */
    char *const *vars; /* "NAME=value"; those that do not begin with SLURM_ are passed over */
    size_t count;
    const char *name; /* NULL: it has none */
};

/* Hands each to put(). Returns how many were left out, the former names not counted. */
size_t job_set_env_each(const struct job_set_env *components, size_t count, job_env_fn *put,
                        void *ctx);
/* Hands over each name that such a variable ("SLURM_NNODES") of one component has. 'component': its
 * name; NULL: it has none. */
typedef void job_set_env_name_fn(void *ctx, const char *name);
void job_set_env_each_name(const char *var, const char *component, size_t offset,
                           job_set_env_name_fn *put, void *ctx);
/* Whether it is the name of such a variable, of any heterogeneous job. */
bool job_set_env_has(const char *name, size_t len);
