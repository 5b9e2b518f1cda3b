/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A PAM session round the step (UsePAM, CORE-078), of the service "slurm": its modules may refuse
 * the user, set limits, and add variables. Only slurmstepd-spank has it: libpam is loaded, which a
 * static program cannot; in slurmstepd it is refused. Modules run as root in the shepherd, and
 * while one works nothing else is done for the step.
 */
#pragma once

#include "slurmstepd/step/step.h"

#define SESSION_SERVICE "slurm"

/* Opens it where the start message asks for it. Limits that it sets are of the tasks, not ours. */
int session_open(struct step *step, struct err *err);
/* In a child, as root: those limits. */
void session_limit(const struct step *step);
/* Nothing of the step lives any more. */
void session_close(struct step *step);
