/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Launches that are prepared and wait for the word of who has asked (CORE-227), in memory alone:
 * without it, or after a restart, nothing has happened but the prolog.
 */
#pragma once

#include "slurmd/job/launch.h"
#include "slurmd/node/slurmd.h"

/* It is ready: it fails unless its commit comes in time. */
void prepare_await_commit(struct attempt *a, struct launch *l);

/* By its call, or one that has joined it: it may start; whoever asked wants it no more. */
void prepare_commit(struct slurmd *d, uint64_t call);
void prepare_gone(struct slurmd *d, uint64_t call);
