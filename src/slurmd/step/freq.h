/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU frequencies (src/cpufreq), from the daemon's side: the shepherd's order, and the reset for a
 * shepherd that died before it could reset them.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "proto/io.pb-c.h"

struct attempt;
struct slurmd;

/* Logs once if the site's setting is impossible on this node. */
void freq_fill(struct slurmd *d, Pb__StepdStart *m, struct arena *arena);
/* The step has no shepherd any longer: resets its CPUs, unless the shepherd has done so. */
void freq_step_over(const struct attempt *a, uint32_t step_id);
/* At the start of the daemon, after its jobs are known: resets the CPUs that earlier daemons
   left. */
void freq_sweep(struct slurmd *d);
