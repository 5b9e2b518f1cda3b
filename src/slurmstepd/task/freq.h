/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frequencies of the step's CPUs (--cpu-freq, CpuFreqDef): set before its tasks begin, and put
 * back when nothing of it lives (src/cpufreq). It is a wish: what cannot be done is said once on
 * the step's standard error, if the user has asked, and the step runs.
 */
#pragma once

#include "slurmstepd/step/step.h"

void freq_begin(struct step *step); /* tasks are laid out, and have not begun */
void freq_end(struct step *step);   /* once more does nothing */
