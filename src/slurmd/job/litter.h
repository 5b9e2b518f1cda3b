/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What shepherds that were killed have left in the spool directory, and users could write to: it is
 * removed by a process of its own, as it may be as large as the file system.
 */
#pragma once

#include "slurmd/node/slurmd.h"

void litter_of_step(struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t step_id);
/* At the start of the daemon, with its jobs known: that of steps which no shepherd has. */
void litter_sweep(struct slurmd *d);
