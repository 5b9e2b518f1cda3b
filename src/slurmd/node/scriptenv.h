/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of the site's programs: a fixed PATH and SLURM_* values, made from the
 * controller's description of a job and from the local configuration. Nothing is inherited from
 * the daemon or the user.
 */
#pragma once

#include "proto/node.pb-c.h"
#include "slurmd/node/slurmd.h"

/* Each list ends with NULL; the caller frees it with scriptenv_free(). */
char **scriptenv_prolog(const struct slurmd *d, const Pb__NodeAttempt *about);
char **scriptenv_epilog(const struct slurmd *d, const Pb__NodeAttempt *about);
char **scriptenv_unkillable(const struct slurmd *d, const Pb__NodeAttempt *about, uint32_t step_id);
/* PATH also has our own commands, as the last directory */
char **scriptenv_health(const struct slurmd *d);
/* Adds "NAME=value" and takes ownership of it. */
char **scriptenv_add(char **env, char *var);
void scriptenv_free(char **env);
