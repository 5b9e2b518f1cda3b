/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What control groups have counted of steps that run (JobAcctGatherType=jobacct_gather/cgroup):
 * time, also of processes that nobody waited for, and memory without what is shared counting twice.
 * They know a step as a whole; of single tasks the books of tally.h tell.
 */
#pragma once

#include "proto/usage.pb-c.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/usage/tally.h"

/* Into the books, before a look is taken in. */
void counted_memory(struct slurmd *d, struct tally *t);
/* Of one step, before the books are asked; nothing where nothing is counted. */
void counted_time(struct slurmd *d, const struct tally_step *s, Pb__Usage *m);
