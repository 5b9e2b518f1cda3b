/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --prolog and --epilog: programs of the user that srun runs here, around its step.
 */
#pragma once

struct run;

/* Waits for it. Its failure is told and changes nothing. program NULL: nothing to do. */
void hook_run(const struct run *run, const char *program);
