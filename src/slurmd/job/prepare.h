/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prepared launches that wait for the commit of their caller (CORE-227), in memory only. Without a
 * commit, or after a restart, only the prolog has run.
 */
#pragma once

#include "slurmd/job/launch.h"
#include "slurmd/node/slurmd.h"

/* The launch is prepared; it fails unless its commit arrives in time. */
void prepare_await_commit(struct attempt *a, struct launch *l);

/* Commits the launch of this call, or of a call that was joined to it; abandons it. */
void prepare_commit(struct slurmd *d, uint64_t call);
void prepare_gone(struct slurmd *d, uint64_t call);
