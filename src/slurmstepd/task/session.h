/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A PAM session around the step (UsePAM, CORE-078), of the service "slurm". Its modules may refuse
 * the user, set limits, and add variables. Only slurmstepd-spank supports it, because libpam is
 * loaded dynamically, which a static program cannot do; slurmstepd refuses it. Modules run as root
 * in the shepherd, and while one runs the shepherd does nothing else.
 */
#pragma once

#include "slurmstepd/step/step.h"

#define SESSION_SERVICE "slurm"

/* Opens the session if the start message requests it. Limits set by the session apply to the
   tasks, not to the shepherd. */
int session_open(struct step *step, struct err *err);
/* In a child, as root: applies these limits. */
void session_limit(const struct step *step);
/* No process of the step is left. */
void session_close(struct step *step);
