/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose the room in the spool directory is. A directory that is full keeps jobs from starting, and
 * the node is drained for it; but users can fill it, by scripts and by what they put into the
 * directories of PMIx servers. Then room comes back with the end of their jobs, and a node that
 * were drained for it would be one that any user can drain.
 */
#pragma once

#include "slurmd/node/slurmd.h"

/* Whether there is hardly any room, of which jobs that are here have a quarter or more. Looks at
 * 10000 files at most. */
bool spool_space_is_of_jobs(const struct slurmd *d);
