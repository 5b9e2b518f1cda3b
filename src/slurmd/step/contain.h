/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control groups, from the daemon's side: which there are on this machine, the job's directory with
 * its limits, and the removal of what is over. A step's own directory is made by its shepherd
 * (slurmstepd/task/contain.h) as contain_fill() tells it.
 *
 * What the configuration asks for and the machine cannot give is said once, when it is opened.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "cgroup/cgroup.h"
#include "proto/io.pb-c.h"
#include "slurmd/node/slurmd.h"

struct attempt;

/* As the configuration in force asks for; called again after it has changed, and then keeps what it
 * had if that fails. Failure: nothing of it can be had, another daemon has it, or it is to be
 * elsewhere while there are steps here. */
int contain_open(struct slurmd *d, struct err *err);
void contain_close(struct slurmd *d); /* what runs stays as it is */

/* Makes the job's directory, and says what the shepherd is to do; the message may stay without it.
 * cred: verified; node_index: the step's row in it. */
int contain_fill(struct attempt *a, const Pb__Cred *cred, uint32_t node_index, Pb__StepdStart *m,
                 struct arena *arena, struct err *err);

/* A process that belongs to no step, in the job's directory with its limits, where there is one. */
int contain_add(struct attempt *a, const Pb__Cred *cred, uint32_t node_index, pid_t pid,
                struct err *err);

bool contain_tracks(const struct slurmd *d); /* steps that start now, by control groups */
/* Those in the step's, where it is tracked by one. The caller ends the list. */
void contain_pids(struct attempt *a, uint32_t step_id, struct cgroup_pids *out);

/* The shepherds of a job have a memory cgroup of their own beside the job's, with a limit that
 * grows with the steps of the job. *entry: a new shepherd writes "0" to it before it reads its
 * order; the caller closes. -1: the configuration limits no memory. */
int contain_shepherds_open(struct attempt *a, int *entry, struct err *err);
/* The kernel has killed more processes in that cgroup than earlier calls have accounted for.
 * Accounts for one of them, and *why names the limit. */
bool contain_shepherds_were_killed(struct attempt *a, struct str *why);

/* Of a step whose shepherd was killed: ends what is in its cgroup. How many are left, and which
 * one of them, as proc_describe() puts it. */
unsigned contain_kill(struct attempt *a, uint32_t step_id, struct str *left);
/* The time that its processes have used, where cgroups count it; false: nobody knows. */
bool contain_time(struct attempt *a, uint32_t step_id, Pb__Usage *out);
/* What its processes have of memory now, where that is to be gathered; the same. */
bool contain_memory(struct attempt *a, uint32_t step_id, uint64_t *kib);
/* No process of it lives: its directory goes, now or as soon as the kernel lets go of it. */
void contain_step_over(struct attempt *a, uint32_t step_id);
void contain_job_over(struct attempt *a);
/* At the start of the daemon, with its jobs known: directories of others. */
void contain_sweep(struct slurmd *d);

/* --- pure, for tests ---------------------------------------------------------------------------
 */

/* What of memory: of what was given (0: nothing) on a node that has so much. */
void contain_limit(const struct conf_cgroup *c, uint64_t node_mib, uint64_t given_mib,
                   struct cgroup_memory_limit *out);
/* The kernel's numbers of CPUs that a credential names, "0-3,8". False: there are none. */
bool contain_cpus(const Pb__CpuMap *map, ProtobufCBinaryData cpu_set, struct str *out);
