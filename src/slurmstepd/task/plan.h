/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the launch message to what one task's child does.
 */
#pragma once

#include "slurmstepd/task/child.h"

/* Of everything that runs for the user. */
mode_t plan_umask(const struct step *step);

/* Fills the plan; plan_done() is due also after a failure. */
int plan_task(struct step *step, struct task *t, struct child_plan *plan, struct err *err);
void plan_done(struct child_plan *plan);
