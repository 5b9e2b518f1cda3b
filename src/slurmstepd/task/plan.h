/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts the launch message to the plan of one task's child.
 */
#pragma once

#include "slurmstepd/task/child.h"

/* The umask of all processes that run for the user. */
mode_t plan_umask(const struct step *step);

/* Fills the plan; call plan_done() also after a failure. */
int plan_task(struct step *step, struct task *t, struct child_plan *plan, struct err *err);
void plan_done(struct child_plan *plan);
