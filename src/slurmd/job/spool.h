/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The spool directory at start: creates it, locks it against a second daemon, wipes it after a
 * reboot, and reads it.
 */
#pragma once

#include "slurmd/node/slurmd.h"

int spool_open(struct slurmd *d, struct err *err);
/* Takes over the jobs of earlier daemons; clean (-c): ends them. On an error they cannot all be
 * read now, and the daemon must not start, because the controller counts a missing job as lost. */
int spool_adopt(struct slurmd *d, bool clean, struct err *err);
void spool_close(struct slurmd *d);
