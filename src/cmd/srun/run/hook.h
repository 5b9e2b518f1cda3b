/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs that srun runs as the user on its own host around its step, with the arguments of the
 * step: --prolog and --epilog, otherwise SrunProlog and SrunEpilog.
 */
#pragma once

struct run;

/* Waits for it. Its failure is told and changes nothing. program NULL: nothing to do. */
void hook_run(const struct run *run, const char *program);
