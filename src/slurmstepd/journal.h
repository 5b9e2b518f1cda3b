/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A shepherd has no log of its own, and seldom anything to say: a line in the daemon's log, or in
 * syslog.
 */
#pragma once

#include "slurmstepd/step.h"

void journal_error(const struct step *step, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
