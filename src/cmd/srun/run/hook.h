/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs that srun runs as the user on its own host before and after its step, with the arguments
 * of the step: --prolog and --epilog, otherwise SrunProlog and SrunEpilog.
 */
#pragma once

#include <stdbool.h>

struct run;

/* Runs the program, waits for it, and reports its failure. SLURM_SCRIPT_CONTEXT is 'context'.
 * Returns false if the program failed or cannot be run. program NULL: nothing to do. */
bool hook_run(const struct run *run, const char *program, const char *context);
