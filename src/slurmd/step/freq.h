/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frequencies of CPUs (src/cpufreq), from the daemon's side: what a shepherd is to know, and the
 * end of those whose shepherd did not live to see it.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "proto/io.pb-c.h"

struct attempt;
struct slurmd;

/* Says once when what the site wants cannot be had here. */
void freq_fill(struct slurmd *d, Pb__StepdStart *m, struct arena *arena);
/* No shepherd of it lives: its CPUs run as before, if it has not seen to that itself. */
void freq_step_over(const struct attempt *a, uint32_t step_id);
/* At the start of the daemon, with its jobs known: what earlier ones have left. */
void freq_sweep(struct slurmd *d);
