/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limits of a partition that apply to a job now: time limit, number of nodes, memory. Pure. */
#pragma once

#include "cluster/cluster.h"

/* Returns 0, or the ERR_* for the exceeded limit; *reason is then Slurm's reason for it. */
int bounds_breach(const struct conf *conf, const struct job *j, enum reason *reason);
