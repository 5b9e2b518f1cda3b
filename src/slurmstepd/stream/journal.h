/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A shepherd has no log of its own, and seldom anything to say: a line in the daemon's log, or in
 * syslog; and for the user, on the step's standard error (--slurmd-debug).
 */
#pragma once

#include "base/log.h"
#include "slurmstepd/step/step.h"

void journal_error(const struct step *step, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Told to the user, unless fewer messages are wanted: errors are when nothing is said. Before the
 * tasks run it waits for journal_begin(); when their standard error is closed it is lost. */
void journal_tell(struct step *step, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool journal_tells(const struct step *step, enum log_level level);
void journal_begin(struct step *step); /* the tasks run */

/* A line of our own, on the standard error of tasks, wherever that goes. */
void journal_say(struct step *step, const char *line);
void journal_say_to_task(struct task *t, const char *line); /* into that of one task */
