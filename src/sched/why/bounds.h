/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a partition allows a job now: its time limit, its number of nodes, its memory. Pure. */
#pragma once

#include "cluster/cluster.h"

/* 0, or an ERR_* of what it asks for too much of; *reason is Slurm's word for that. */
int bounds_breach(const struct conf *conf, const struct job *j, enum reason *reason);
