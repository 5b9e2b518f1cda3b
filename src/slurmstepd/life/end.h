/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the step went, until somebody has it for sure: the exit file in the spool directory, or a
 * daemon that says that it has it on disk. Most of the time one is there and says so at once, and
 * no file is made. This process does not end before either has it.
 */
#pragma once

#include <stdbool.h>

#include "slurmstepd/step/step.h"

/* Tells the daemon. in_file: whoever is told, it is in the file first. */
void end_record(struct step *step, const Pb__StepdEnded *m, bool in_file);

void end_confirmed(struct step *step);

/* The daemon will not confirm it any more; writes the file unless it did. */
void end_keep(struct step *step);

/* Whether somebody has to confirm it yet. */
bool end_is_open(const struct step *step);
