/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The transitions of attempts, by the rows of attempt_phase.def. attempt_check() makes those that
 * are due.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

/* Creates the attempt of a note, takes the note's contents, and finds its slurmstepds and the exit
 * files that they wrote. */
void attempt_adopt(struct slurmd *d, struct note *n);
/* Makes the transition of attempt_phase.def and calls its action. The event must be legal in this
 * phase.
 */
void attempt_advance(struct attempt *a, enum attempt_event event);

void attempt_terminate(struct attempt *a, uint32_t grace_sec, const char *why);
void attempt_check(struct attempt *a);
/* Ends an attempt without an allocation (--no-allocate) when nothing of it is left. */
void attempt_check_left(struct attempt *a);
/* Takes the report of a slurmstepd. s: its step; NULL: it has no connection. */
void attempt_step_ended(struct attempt *a, const Pb__StepdEnded *said, struct step *s);
/* The step has no slurmstepd. m: the end that it wrote down; NULL: it was killed, and the processes
 * that it left behind are killed here. */
void attempt_step_lost(struct attempt *a, uint32_t step_id, const Pb__StepdEnded *m);

void attempt_forget(struct attempt *a); /* frees it, removes its note, adds it to revoked.h */
void attempt_free_all(struct slurmd *d);
