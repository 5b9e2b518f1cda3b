/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes of slurmstepd. Starting the program costs more than all work for a short step, so a
 * running copy is forked: the nursery, a child process that knows of no step. Each forked shepherd
 * begins like a new process, and is our own child
 * (docs/adr/0025-step-daemons-are-forked.md).
 *
 * The nursery is started with the first step, and again after NURSERY_STEPS steps, when it has
 * died, and when the program file has changed. It ends with the daemon. Until the nursery reports
 * that it is ready, and whenever it fails, a step gets a newly started process.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "slurmd/node/slurmd.h"

/* Starts a shepherd whose connection to us is fd; the caller keeps its own descriptor. entry: see
 * contain.h, stays the caller's, too; -1: none. loads: start the program that loads plugins, which
 * has no nursery. title: the process title in ps. *pid is 0 if only StepdStarted.shepherd will
 * report it. Returns -ERR_NODE_FAULT. */
int shepherd_start(struct slurmd *d, bool loads, const char *title, int fd, int entry, pid_t *pid,
                   struct err *err);

/* Ends the nursery; its shepherds continue. */
void shepherd_close(struct slurmd *d);
