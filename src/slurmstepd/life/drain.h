/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * After the last process of a step has ended: output waits for a srun that takes it slowly, as long
 * as it takes any. One that has taken nothing for STEP_DRAIN_SEC loses the rest, which the daemon's
 * log says. Files of the user are written by the tasks themselves and never pass through here.
 */
#pragma once

#include "slurmstepd/step/step.h"

#define STEP_DRAIN_SEC 600

void drain_begin(struct step *step); /* no process of the step is left */
void drain_done(struct step *step);

/* The daemon has ordered the end, before that phase or in it: when it has our part of the job, the
 * connections to it close. The node need not wait until srun has taken the last output. */
void drain_let_go(struct step *step);
