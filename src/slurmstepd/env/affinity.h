/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Binds tasks to CPUs and memory as determined by bind.h (task/affinity). A task may change its
 * binding; control groups enforce limits.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Called before the tasks start: determines the binding of each task and the variables that
   describe it. Returns -ERR_BIND. */
int affinity_prepare(struct step *step, struct err *err);
void affinity_done(struct step *step);

/* The CPUs that the task is bound to, by the kernel's numbers; NULL: unbound. */
const struct bitset *affinity_cpus(const struct task *t);

/* In the child, before any code of the user runs and after its standard error is open. 'said' gets
 * the text to be written there: requested lines about the binding, and failures. */
void affinity_apply(const struct task *t, struct str *said);
