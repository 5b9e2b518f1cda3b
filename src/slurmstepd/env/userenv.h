/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment that a user's shell has on this node (sbatch --get-user-env), for a batch script.
 * The shell is run by the script's own process, when it has become the user and before it tells
 * that it is ready: what goes wrong keeps the job from starting, within bounded time.
 */
#pragma once

#include "slurmstepd/step/step.h"

#define USERENV_BYTES_MAX (4u << 20)
#define USERENV_VARS_MAX 16384

bool userenv_wanted(const struct step *step);

/* Lays the job's variables over those of the shell. -ERR_USER_ENV. */
int userenv_load(struct step *step, struct err *err);
