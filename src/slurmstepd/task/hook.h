/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs around each task, run as the user in the task's environment and directory: TaskProlog of
 * slurm.conf and srun's --task-prolog before it, in its own process; srun's --task-epilog and
 * TaskEpilog after it, started by the shepherd. A prolog that fails keeps its task from running; of
 * an epilog that fails, the daemon's log or the task's standard error tells. Once a step is being
 * killed no epilog starts.
 */
#pragma once

#include "slurmstepd/task/child.h"

#define HOOK_OUTPUT_MAX (1u << 20) /* of a prolog; the rest is dropped */
#define HOOK_EPILOG_SEC 5          /* then a user's epilog is killed */

bool hook_has_prologs(const struct step *step);
/* In the task's process. 0, or the exit code to end with: why has been said on standard error. */
int hook_prologs(struct task *t, const struct child_plan *plan);

/* SLURM_GTID and SLURM_RLIMIT_*; the limits are those of this process. */
void hook_put_task_facts(struct envlist *env);

bool hook_has_epilogs(const struct step *step);
/* Takes along, from the start message, what epilogs need. */
void hook_keep(struct step *step);
/* The task has ended. The step does not end before its epilogs have. */
void hook_epilogs(struct task *t);
void hook_done(struct step *step);
