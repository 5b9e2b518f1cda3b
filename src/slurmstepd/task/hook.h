/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs around each task, run as the user in the task's environment and directory. TaskProlog
 * of slurm.conf and srun's --task-prolog run before it, in its own process; srun's --task-epilog
 * and TaskEpilog run after it, started by the shepherd. A failed prolog prevents its task from
 * running; a failed epilog is reported in the daemon's log or on the task's standard error. No
 * epilog starts once the step is being killed.
 */
#pragma once

#include <stddef.h>

#include "base/envlist.h"
#include "base/str.h"
#include "slurmstepd/task/child.h"

#define HOOK_OUTPUT_MAX (1u << 20) /* bytes of output of a prolog; the rest is dropped */
#define HOOK_EPILOG_SEC 5          /* seconds until a user's epilog is killed */

bool hook_has_prologs(const struct step *step);
/* Called in the task's process. Returns 0, or the exit code to end with, after the reason was
   written on standard error. */
int hook_prologs(struct task *t, const struct child_plan *plan);

/* Sets SLURM_GTID and SLURM_RLIMIT_*, with the limits of this process. */
void hook_put_task_facts(struct envlist *env);

bool hook_has_epilogs(const struct step *step);
/* Copies the data for epilogs from the start message. */
void hook_keep(struct step *step);
/* The task has ended. The step does not end before its epilogs have ended. */
void hook_epilogs(struct task *t);
void hook_done(struct step *step);

/*
 * The directives in the output of a task prolog, one per line:
 *
 *   export NAME=value   sets a variable of the task, to everything up to the end of the line
 *   unset NAME ...      removes variables
 *   print ...           goes to the task's standard output
 *
 * Other lines are ignored.
 */
#define DIRECTIVE_VALUE_MAX 131071 /* bytes of NAME=value; the kernel accepts no longer string */

/* Applies the directives to env, appends printed text to out, and appends to complaints one line
 * for each malformed directive (with its first bytes, at most a thousand). */
void hook_apply_directives(const char *text, size_t len, struct envlist *env, struct str *out,
                           struct str *complaints);
