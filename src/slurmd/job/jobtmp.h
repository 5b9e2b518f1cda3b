/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories that each job has for itself (JobContainerType=job_container/tmpfs), from the
 * daemon's side: the place for them, and their end. A job's mount namespace is made and entered by
 * its shepherds (slurmstepd/task/jobtmp.h); it is held by a file of the job's directory below
 * BasePath, so that it does not matter which processes live.
 */
#pragma once

#include "base/arena.h"
#include "proto/io.pb-c.h"
#include "slurmd/node/script.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/node/users.h"

struct attempt;

/* As job_container.conf says; it is read now and not again. */
int jobtmp_open(struct slurmd *d, struct err *err);
void jobtmp_close(struct slurmd *d);

/* What a shepherd, or a receiver of files, is to do; borrows. NULL: nothing. */
Pb__StepTmp *jobtmp_order(const struct slurmd *d, uint32_t job_id, const struct user *user,
                          struct arena *arena);

/* The file that holds the job's namespace; NULL: it has none. The caller frees. */
char *jobtmp_namespace(const struct slurmd *d, uint32_t job_id);

/* Removes those of a job whose epilog is behind us, in a process of its own; done is called later,
 * as for a script. False: there is nothing to be removed on this node. */
bool jobtmp_remove(struct attempt *a, script_fn *done);
/* At the start of the daemon, with its jobs known: what is left of others. */
void jobtmp_sweep(struct slurmd *d);
