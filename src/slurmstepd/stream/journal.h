/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages of the shepherd, which has no log of its own: lines in the daemon's log or in syslog,
 * and lines for the user on the step's standard error (--slurmd-debug).
 */
#pragma once

#include "base/log.h"
#include "slurmstepd/step/step.h"

void journal_error(const struct step *step, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes a message for the user if its level is enabled; the default level is errors. Before the
 * tasks run, the message is kept until journal_begin(). It is lost if the tasks' standard error is
 * closed. */
void journal_tell(struct step *step, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool journal_tells(const struct step *step, enum log_level level);
void journal_begin(struct step *step); /* the tasks run */

/* Writes a line on the standard error of tasks, wherever that goes. */
void journal_say(struct step *step, const char *line);
void journal_say_to_task(struct task *t, const char *line); /* on the standard error of one task */
