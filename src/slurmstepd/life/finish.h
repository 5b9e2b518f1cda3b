/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a step, wanted or not: tasks, then every descendant, then the exit file, then the
 * daemon and srun are told.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Goes on as far as it can; called whenever a process has ended or output has been sent. */
void finish_check(struct step *step);

/* SIGCONT and SIGTERM to everything, SIGKILL after grace_sec (0: at once). A repeat can only
 * shorten the grace. why: NULL says nothing to the user; "" or "CANCELLED" is a plain cancel. */
void finish_terminate(struct step *step, uint32_t grace_sec, const char *why);

/* A script's output is open: carries out an order that came before. */
void finish_terminate_early(struct step *step);

/* At once, for its memory: says so, and its tasks have run out of it. */
void finish_over_memory(struct step *step, const Pb__OverMemory *m);
void finish_format_memory(const struct step *step, const Pb__OverMemory *m, struct str *out);

/* The line users know: "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT ... DUE TO TIME LIMIT ***"
 */
void finish_format_cancel(const char *what, const char *node, const char *when, const char *why,
                          struct str *out);

/* SIGKILL to everything, and finish_check() after a while. What does not end within
 * UnkillableStepTimeout is given up. */
void finish_kill_all(struct step *step);

void finish_never_started(struct step *step, int code, const char *text);
