/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time after the last process of a step has ended: remaining output waits for a slow srun as
 * long as it reads at all. An srun that has read nothing for STEP_DRAIN_SEC loses the rest, which
 * the daemon logs. Output to files of the user is written by the tasks themselves and does not
 * pass through here.
 */
#pragma once

#include "slurmstepd/step/step.h"

#define STEP_DRAIN_SEC 600

void drain_begin(struct step *step); /* no process of the step is left */
void drain_done(struct step *step);

/* The daemon has ordered the end, before or during the drain. When the daemon has confirmed
 * our result, its connections close: the node need not wait until srun has read the last output. */
void drain_let_go(struct step *step);
