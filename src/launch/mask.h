/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SLURM_UMASK: the mask for files that a user wants for a job, in the place of the command's own.
 */
#pragma once

#include "base/err.h"
#include "cli/envlist.h"

/* What a step's tasks are told beside SLURM_UMASK, which says what mask they have: by this variable
 * of the same value a command knows that it is no wish of theirs. */
#define MASK_TOLD "SLUICE_UMASK"

/* This process has that mask from now on: what it creates has it, and what it sends. -ERR_RANGE:
 * the variable is no mask. */
int mask_take(struct err *err);

/* Takes what this command was told out of the environment of a job, which may get another mask. */
void mask_forget(struct envlist *e);
