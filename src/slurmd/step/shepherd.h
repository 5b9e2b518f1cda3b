/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes of slurmstepd. A program's start costs more than all that it does for a short step, so
 * one that has started forks: the nursery, a process of ours that knows of no step. Each of its
 * shepherds begins as a new process would, and is our own child
 * (docs/adr/0025-shepherds-come-from-a-nursery.md).
 *
 * The nursery is started with the first step, and again after NURSERY_STEPS, when it has gone, and
 * when the program is another one than before. It ends when we do. Until it says that it is ready,
 * and whatever goes wrong with it, a step gets a process that is started for it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "slurmd/node/slurmd.h"

/* One that has fd as its connection to us; the caller's stays open. entry: of contain.h, the
 * caller's too; -1: none. loads: the one with plugins, which has no nursery. title: what ps shows.
 * *pid: 0 when only it will tell, with StepdStarted.shepherd. -ERR_NODE_FAULT. */
int shepherd_start(struct slurmd *d, bool loads, const char *title, int fd, int entry, pid_t *pid,
                   struct err *err);

/* Lets the nursery go; its shepherds live. */
void shepherd_close(struct slurmd *d);
