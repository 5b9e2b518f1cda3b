/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prolog of a job, once, and the launches that wait for it. Plugins of the site run beside it.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

void prolog_run(struct attempt *a); /* unless that was done; then the launches */
/* The controller asks for it before anything is launched (PrologFlags=Alloc); 'tell': it is to hear
 * when that has succeeded. */
void prolog_run_alone(struct attempt *a, bool tell);
/* From its note: one that an earlier daemon has begun is waited for, and run again. */
void prolog_adopt(struct attempt *a);

/* The launches that wait for it will not start. */
void prolog_fail_waiting(struct attempt *a, int code, const char *text, bool drain);
