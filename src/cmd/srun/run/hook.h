/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs that srun runs as the user on its own host around its step, with the arguments of the
 * step: --prolog and --epilog, otherwise SrunProlog and SrunEpilog.
 */
#pragma once

#include <stdbool.h>

struct run;

/* Waits for the program, and tells its failure. SLURM_SCRIPT_CONTEXT is 'context'. False: the
 * program failed or cannot be run. program NULL: nothing to do. */
bool hook_run(const struct run *run, const char *program, const char *context);
