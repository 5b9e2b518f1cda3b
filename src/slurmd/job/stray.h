/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes of a step whose shepherd was killed. Its tasks died with it; what they had started was
 * passed to us, their subreaper, or to init when an earlier daemon was its parent.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "slurmd/node/slurmd.h"

/* How many are left; of those, 'left' is told of the first (proc_describe()).
 *
 * SIGKILL to each process of the user that carries this step's and this node's SLURM_JOB_ID,
 * SLURM_STEP_ID (the batch script's carry none), SLURMD_NODENAME and SLURM_CONF in its environment,
 * and to the user's processes among our own children that are no receivers of files (receive.h);
 * again until none is found, a bounded number of times. */
unsigned stray_kill(const struct slurmd *d, uint32_t job_id, uint32_t step_id, uid_t uid,
                    struct str *left);
