/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of the site's programs: a fixed PATH and SLURM_* values, made from what the
 * controller says of a job and from our own configuration. Nothing of ours and nothing of the
 * user's is inherited.
 */
#pragma once

#include "proto/node.pb-c.h"
#include "slurmd/node/slurmd.h"

/* All end with NULL; the caller frees the strings and the list, see scriptenv_free(). */
char **scriptenv_prolog(const struct slurmd *d, const Pb__NodeAttempt *about);
char **scriptenv_epilog(const struct slurmd *d, const Pb__NodeAttempt *about);
char **scriptenv_unkillable(const struct slurmd *d, const Pb__NodeAttempt *about, uint32_t step_id);
char **scriptenv_health(const struct slurmd *d); /* our own commands are on its PATH, last */
/* With one more, "NAME=value", which it takes over. */
char **scriptenv_add(char **env, char *var);
void scriptenv_free(char **env);
