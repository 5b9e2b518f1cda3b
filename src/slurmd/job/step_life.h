/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The life of a step as its job sees it: starts the step's slurmstepd or finds that of an earlier
 * daemon, and draws the consequences of what it reports and of its end: for callers, the job, the
 * books and the controller.
 */
#pragma once

#include "slurmd/step/step.h"

/* Starts a shepherd and tells it what to do. */
int step_start(struct attempt *a, uint32_t id, const Pb__StepdStart *start, struct step **out,
               struct err *err);

/* Connects to the shepherd that has claimed the step; false when it does not live. */
bool step_adopt(struct attempt *a, uint32_t id);
