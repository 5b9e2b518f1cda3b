/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the prolog of a job once, then the launches that wait for it. SPANK plugins run beside it.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

/* Unless it has already run; then starts the waiting launches. */
void prolog_run(struct attempt *a);
/* The controller requests the prolog before any launch (PrologFlags=Alloc); 'tell': report its
 * success to the controller. */
void prolog_run_alone(struct attempt *a, bool tell);
/* From a note: waits for a prolog started by an earlier daemon, and runs it again. */
void prolog_adopt(struct attempt *a);

/* Fails the launches that wait for the prolog. */
void prolog_fail_waiting(struct attempt *a, int code, const char *text, bool drain);
