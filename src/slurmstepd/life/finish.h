/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a step, ordered or not: first the tasks end, then every descendant; then the result is
 * kept, and the daemon and srun are told.
 *
 * The result is kept until it is stored safely: in the exit file in the spool directory, or by a
 * daemon that confirms that it is on disk. Usually a daemon is connected and confirms at once, and
 * no file is written. This process does not end before either is done.
 *
 * After the last process has ended, remaining output waits for a slow srun as long as it reads at
 * all (finish_drain). An srun that has read nothing for STEP_DRAIN_SEC loses the rest, which the
 * daemon logs. Output to files of the user is written by the tasks themselves and does not pass
 * through here.
 */
#pragma once

#include <stdbool.h>

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

/* Formats the message "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT ... DUE TO TIME LIMIT
 ***". */
void finish_format_cancel(const char *what, const char *node, const char *when, const char *why,
                          struct str *out);

/* Sends SIGKILL to all processes, and calls finish_check() shortly after. Processes that do not
 * end within UnkillableStepTimeout are given up. */
void finish_kill_all(struct step *step);

void finish_never_started(struct step *step, int code, const char *text);

#define STEP_DRAIN_SEC 600

void finish_drain(struct step *step); /* no process of the step is left */
void finish_drain_done(struct step *step);

/* The daemon has ordered the end, before or during the drain. When the daemon has confirmed
 * our result, its connections close: the node need not wait until srun has read the last output. */
void finish_let_go(struct step *step);

void finish_confirmed(struct step *step);

/* The daemon will not confirm any longer: writes the file unless it confirmed before. */
void finish_keep_result(struct step *step);

/* Whether a confirmation is still outstanding. */
bool finish_is_unconfirmed(const struct step *step);
