/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of the user's login shell on this node (sbatch --get-user-env), for a batch
 * script. The script's own process runs the shell, as the user and before it reports that it is
 * ready, so a failure keeps the job from starting, within a limited time.
 */
#pragma once

#include "slurmstepd/step/step.h"

#define USERENV_BYTES_MAX (4u << 20)
#define USERENV_VARS_MAX 16384

bool userenv_wanted(const struct step *step);

/* Sets the job's variables on top of those of the shell. Returns -ERR_USER_ENV. */
int userenv_load(struct step *step, struct err *err);
