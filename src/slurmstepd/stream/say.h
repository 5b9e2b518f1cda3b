/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of our own, on the standard error of tasks, wherever that goes. */
#pragma once

#include "slurmstepd/step/step.h"

void say_to_step(struct step *step, const char *line);
void say_to_task(struct task *t, const char *line); /* into that of one task */
