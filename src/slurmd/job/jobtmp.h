/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Per-job directories (JobContainerType=job_container/tmpfs), from the daemon's side: their base
 * directory and their removal. A job's mount namespace is created and entered by its shepherds
 * (slurmstepd/task/jobtmp.h). A file in the job's directory below BasePath holds the namespace, so
 * it does not depend on any process.
 */
#pragma once

#include "base/arena.h"
#include "proto/io.pb-c.h"
#include "slurmd/node/script.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/node/users.h"

struct attempt;

/* Reads job_container.conf, once. */
int jobtmp_open(struct slurmd *d, struct err *err);
void jobtmp_close(struct slurmd *d);

/* Returns the order for a shepherd or a receiver of files; borrows its arguments. NULL: nothing to
   do. */
Pb__StepTmp *jobtmp_order(const struct slurmd *d, uint32_t job_id, const struct user *user,
                          struct arena *arena);

/* Returns the file that holds the job's namespace; NULL: there is none. The caller frees it. */
char *jobtmp_namespace(const struct slurmd *d, uint32_t job_id);

/* Removes the directories of a job after its epilog, in a child process; done is called later, as
 * for a script. Returns false if nothing has to be removed on this node. */
bool jobtmp_remove(struct attempt *a, script_fn *done);
/* At the start of the daemon, after its jobs are known: removes the leftovers of other jobs. */
void jobtmp_sweep(struct slurmd *d);
