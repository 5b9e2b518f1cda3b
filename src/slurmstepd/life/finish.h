/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a step, ordered or not: first the tasks end, then every descendant; then the exit
 * file is written, and the daemon and srun are told.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Proceeds as far as possible. Called whenever a process has ended or output has been sent. */
void finish_check(struct step *step);

/* Sends SIGCONT and SIGTERM to all processes, and SIGKILL after grace_sec (0: at once). A repeated
 * call can only shorten the grace period. why NULL: no message to the user; "" or "CANCELLED": a
 * plain cancel. */
void finish_terminate(struct step *step, uint32_t grace_sec, const char *why);

/* The output of a script is open: carries out an earlier order to end it. */
void finish_terminate_early(struct step *step);

/* Ends the step at once because of its memory use: writes a message; its tasks count as out of
   memory. */
void finish_over_memory(struct step *step, const Pb__OverMemory *m);
void finish_format_memory(const struct step *step, const Pb__OverMemory *m, struct str *out);

/* Formats the message "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT ... DUE TO TIME LIMIT
 ***". */
void finish_format_cancel(const char *what, const char *node, const char *when, const char *why,
                          struct str *out);

/* Sends SIGKILL to all processes, and calls finish_check() shortly after. Processes that do not
 * end within UnkillableStepTimeout are given up. */
void finish_kill_all(struct step *step);

void finish_never_started(struct step *step, int code, const char *text);
