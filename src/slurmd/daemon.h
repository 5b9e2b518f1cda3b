/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life cycle of the daemon: configuration, event loop, release of all resources. */
#pragma once

#include "slurmd/node/options.h"
#include "slurmd/node/slurmd.h"

/* Runs until a signal stops the loop, then releases everything. Returns the exit status. */
int daemon_run(struct slurmd *d, const struct slurmd_options *o);

/* Releases what main() has set if no daemon is to run. */
void daemon_free_state(struct slurmd *d);
