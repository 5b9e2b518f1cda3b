/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of the daemon: from its configuration, over the event loop, until all is released. */
#pragma once

#include "slurmd/node/options.h"
#include "slurmd/node/slurmd.h"

/* Runs until a signal stops the loop, and releases everything. Returns the status to exit with. */
int daemon_run(struct slurmd *d, const struct slurmd_options *o);

/* Releases what main() has set when there is no daemon to run. */
void daemon_free_state(struct slurmd *d);
