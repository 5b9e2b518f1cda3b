/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frequencies of the step's CPUs (--cpu-freq, CpuFreqDef): set before its tasks start, and
 * reset when no process of it is left (src/cpufreq). The setting is best effort: a failure is
 * reported once on the step's standard error if the user has requested the frequency, and the step
 * runs.
 */
#pragma once

#include "slurmstepd/step/step.h"

void freq_begin(struct step *step); /* the task layout is known, and no task has started */
void freq_end(struct step *step);   /* a second call has no effect */
