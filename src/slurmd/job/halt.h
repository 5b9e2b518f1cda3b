/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspended jobs. An order to suspend is carried out in two steps, so that programs can prepare:
 * SIGTSTP to all processes of the job, and SIGSTOP after a delay. Launches wait while a job is
 * suspended. The order with the highest number takes effect, also across a restart of this daemon.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

struct step;

/* about: the description of the attempt, which may be new here. */
void halt_take(struct slurmd *d, const Pb__Halt *m, const Pb__NodeAttempt *about);
/* From a note: repeats the order in effect. */
void halt_adopt(struct attempt *a);
/* A new shepherd gets the suspended or running state of its job. */
void halt_step_begins(struct step *s);
/* The shepherd has carried out the order with this number. */
void halt_step_did(struct step *s, uint32_t number);
/* A shepherd has gone or ended its step, so the remaining steps may have confirmed the order. */
void halt_check(struct attempt *a);
