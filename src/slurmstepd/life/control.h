/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections of the node daemon: the inherited one, and a socket in the spool directory for a
 * restarted daemon.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Path of a file of the step below the spool directory; 'suffix' is "sock" or "exit". The caller
   frees it. */
char *control_file(const char *dir, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                   const char *suffix);

void control_open(struct step *step, int fd); /* the inherited connection */
/* Creates our socket, which claims the step. -EEXIST: another shepherd has claimed it before.
 * -ERR_CLOSED: the daemon that ordered the step has gone, so the next daemon assumes that it never
 * started. */
int control_claim(struct step *step, struct err *err);
/* Call after the claim, because that daemon may have gone just before: then the claim is withdrawn
 * and the result is -ERR_CLOSED, unless the next daemon has already connected. */
int control_claim_stands(struct step *step, struct err *err);
void control_signal(struct step *step, int signo, bool leader_only);
/* Delivers the signals that arrived while the tasks were set up; the tasks run now. */
void control_signal_early(struct step *step);
/* Sends the signal to all processes of the step. While stop is set, SIGCONT of other senders has
   no effect. */
void control_halt(struct step *step, bool stop, int signo);
void control_tell_ended(struct step *step, const Pb__StepdEnded *m);
bool control_idle(const struct step *step); /* whether all output is written */
void control_done(struct step *step);
