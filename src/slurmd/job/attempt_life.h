/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The transitions of attempts, by the rows of attempt_phase.def. attempt_check() makes the
 * transitions that are due.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

/* Creates the attempt of a note, takes over the note's contents, and finds the attempt's
 * slurmstepds and their exit files. */
void attempt_adopt(struct slurmd *d, struct note *n);
/* Makes the transition of attempt_phase.def and calls its action. The event must be legal in this
 * phase.
 */
void attempt_advance(struct attempt *a, enum attempt_event event);

void attempt_terminate(struct attempt *a, uint32_t grace_sec, const char *why);
void attempt_check(struct attempt *a);
/* Ends an attempt without an allocation (--no-allocate) when nothing of it is left. */
void attempt_check_left(struct attempt *a);
/* Handles the report of a slurmstepd. s is its step; NULL: the step has no connection. */
void attempt_step_ended(struct attempt *a, const Pb__StepdEnded *said, struct step *s);
/* The step has no slurmstepd. m is the end in its exit file; NULL: slurmstepd was killed, and the
 * remaining processes are killed here. */
void attempt_step_lost(struct attempt *a, uint32_t step_id, const Pb__StepdEnded *m);

void attempt_forget(struct attempt *a); /* frees it, removes its note, adds it to revoked.h */
void attempt_free_all(struct slurmd *d);
