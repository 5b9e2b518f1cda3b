/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment variables that say what a job has asked for: one table (job_env.def) for all who
 * make such an environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "proto/job.pb-c.h"

typedef void job_env_fn(void *ctx, const char *name, const char *value);

/* Those that are given. */
void job_env_each(const Pb__JobSpec *spec, job_env_fn *put, void *ctx);
/* Appends "cpu=2,gres/gpu:a100=2"; cpus 0: not given. */
void job_env_tres(const char *gres, uint32_t cpus, struct str *out);
bool job_env_has(const char *name, size_t len); /* whether there is such a variable */
