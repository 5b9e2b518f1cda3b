/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control groups, from the daemon's side: detects what the machine offers, creates the job's
 * directory with its limits, and removes directories of ended jobs. A step's shepherd creates the
 * step's directory (slurmstepd/task/contain.h) as ordered by contain_fill().
 *
 * Configured features that the machine does not offer are reported once, on opening.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "cgroup/cgroup.h"
#include "proto/io.pb-c.h"
#include "slurmd/node/slurmd.h"

struct attempt;

/* Opens the control groups of the configuration in force. Called again after a change; if that
 * fails, the previous state is kept. Fails if no control group is usable, if another daemon uses
 * the directory, or if the directory changes while steps run. */
int contain_open(struct slurmd *d, struct err *err);
void contain_close(struct slurmd *d); /* leaves running processes where they are */

/* Creates the job's directory and fills in the order for the shepherd; the order may stay empty.
 * cred is verified; node_index is this node's row in it. */
int contain_fill(struct attempt *a, const Pb__Cred *cred, uint32_t node_index, Pb__StepdStart *m,
                 struct arena *arena, struct err *err);

/* Moves a process that belongs to no step into the job's directory, if there is one. */
int contain_add(struct attempt *a, const Pb__Cred *cred, uint32_t node_index, pid_t pid,
                struct err *err);

bool contain_tracks(const struct slurmd *d); /* whether new steps are tracked by control groups */
/* Lists the processes of a step that is tracked by a control group. The caller frees the list. */
void contain_pids(struct attempt *a, uint32_t step_id, struct cgroup_pids *out);

/* The shepherds of a job have their own memory cgroup beside the job's; its limit grows with the
 * number of the job's steps. *entry is a descriptor: a new shepherd writes "0" to it before it
 * reads its order; the caller closes it. -1: the configuration does not limit memory. */
int contain_shepherds_open(struct attempt *a, int *entry, struct err *err);
/* Whether the kernel has killed more processes in that cgroup than earlier calls have accounted
 * for. If so, accounts for one of them, and *why names the limit. */
bool contain_shepherds_were_killed(struct attempt *a, struct str *why);

/* For a step whose shepherd was killed: kills the processes in its cgroup. Returns the number of
 * remaining processes, and describes one of them in 'left', as proc_describe(). */
unsigned contain_kill(struct attempt *a, uint32_t step_id, struct str *left);
/* Reads the CPU time of the step's processes, if cgroups account it; false: unknown. */
bool contain_time(struct attempt *a, uint32_t step_id, Pb__Usage *out);
/* Reads the present memory of the step's processes, if cgroups account it; false: unknown. */
bool contain_memory(struct attempt *a, uint32_t step_id, uint64_t *kib);
/* No process of the step is left: removes its directory, now or as soon as the kernel allows
   it. */
void contain_step_over(struct attempt *a, uint32_t step_id);
void contain_job_over(struct attempt *a);
/* At the start of the daemon, after its jobs are known: removes the directories of other jobs. */
void contain_sweep(struct slurmd *d);

/* --- pure, for tests -------------------------------------------------------------------------- */

/* Computes the memory limits from the granted memory (0: none) on a node with node_mib. */
void contain_limit(const struct conf_cgroup *c, uint64_t node_mib, uint64_t given_mib,
                   struct cgroup_memory_limit *out);
/* Formats the kernel's numbers of the credential's CPUs, "0-3,8". False: there are none. */
bool contain_cpus(const Pb__CpuMap *map, ProtobufCBinaryData cpu_set, struct str *out);
