/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The node daemon's way in: the inherited connection, and a socket in the spool directory for a
 * daemon that was started anew.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Names of a step's files below the spool directory; 'suffix' is "sock" or "exit". Caller frees. */
char *control_file(const char *dir, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                   const char *suffix);

void control_open(struct step *step, int fd); /* the inherited connection */
/* Makes our socket, which claims the step; -EEXIST when somebody has claimed it before, -ERR_CLOSED
 * when the daemon that wanted it has gone: the next one takes it for never begun. */
int control_claim(struct step *step, struct err *err);
/* To be asked after the claim, as that daemon may have gone just before: then the claim is
 * withdrawn, and -ERR_CLOSED, unless the next one has come by it. */
int control_claim_stands(struct step *step, struct err *err);
void control_signal(struct step *step, int signo, bool leader_only);
/* Those that came while the tasks were set up: they run now. */
void control_signal_early(struct step *step);
/* Everything below gets the signal; while it is stopped, SIGCONT of others does nothing. */
void control_halt(struct step *step, bool stop, int signo);
void control_tell_ended(struct step *step, const Pb__StepdEnded *m);
bool control_idle(const struct step *step); /* everything is written */
void control_done(struct step *step);
