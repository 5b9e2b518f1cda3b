/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps the result of the step until it is stored safely: in the exit file in the spool directory,
 * or by a daemon that confirms that it is on disk. Usually a daemon is connected and confirms at
 * once, and no file is written. This process does not end before either is done.
 */
#pragma once

#include <stdbool.h>

#include "slurmstepd/step/step.h"

/* Sends the result to the daemon. in_file: write the file first in any case. */
void end_record(struct step *step, const Pb__StepdEnded *m, bool in_file);

void end_confirmed(struct step *step);

/* The daemon will not confirm any longer: writes the file unless it confirmed before. */
void end_keep(struct step *step);

/* Whether a confirmation is still outstanding. */
bool end_is_open(const struct step *step);
