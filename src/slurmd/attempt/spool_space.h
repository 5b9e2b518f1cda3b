/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attributes a full spool directory. When the directory is full, jobs cannot start and the node is
 * drained. But users can fill the directory with scripts and with the directories of PMIx servers;
 * that space becomes free when their jobs end. If the node were drained for that, any user could
 * drain it.
 */
#pragma once

#include "slurmd/node/slurmd.h"

/* Whether almost no space is left and a quarter or more of the occupied space belongs to jobs
 * on this node. Examines at most 10000 files. */
bool spool_space_is_of_jobs(const struct slurmd *d);
