/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Binds the tasks to CPUs and memory, as bind.h finds: task/affinity. A task may change it again;
 * who may not is the concern of control groups.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Before the tasks start: what each is bound to, and the variables that say so. -ERR_BIND. */
int affinity_prepare(struct step *step, struct err *err);
void affinity_done(struct step *step);

/* What it is bound to, by the kernel's numbers; NULL: it runs where it likes. */
const struct bitset *affinity_cpus(const struct task *t);

/* In the child, before it runs anything of the user's, once its standard error is there: 'said'
 * gets what is to be written to it, lines about the binding when they were asked for, and about
 * what could not be. */
void affinity_apply(const struct task *t, struct str *said);
