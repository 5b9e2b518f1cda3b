/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspended jobs. An order to stop is carried out in two steps, so that programs can prepare for
 * it: SIGTSTP to all processes of the job, and after a moment SIGSTOP. While it holds, launches
 * wait. The highest number of an order holds, over a restart of this daemon too.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

struct step;

/* about: the attempt, which may be new here. */
void halt_take(struct slurmd *d, const Pb__Halt *m, const Pb__NodeAttempt *about);
/* From a note: what holds is ordered again. */
void halt_adopt(struct attempt *a);
/* A shepherd that is started now begins in the state of its job. */
void halt_step_begins(struct step *s);
/* A shepherd has carried out the order of this number. */
void halt_step_did(struct step *s, uint32_t number);
/* A shepherd has gone, or has ended its step: the others may have been waited for no longer. */
void halt_check(struct attempt *a);
