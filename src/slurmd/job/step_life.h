/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The life of a step from the view of its job: starts the step's slurmstepd or finds that of an
 * earlier daemon, and updates callers, job, accounting and controller when it reports or ends.
 */
#pragma once

#include "slurmd/step/step.h"

/* Starts a shepherd and sends it the order. */
int step_start(struct attempt *a, uint32_t id, const Pb__StepdStart *start, struct step **out,
               struct err *err);

/* Connects to the shepherd that has claimed the step; returns false if the shepherd is dead. */
bool step_adopt(struct attempt *a, uint32_t id);
