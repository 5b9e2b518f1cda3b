/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes of the extern step that were started by other programs, for example by sshd. If the
 * step's control group tracks processes, they are in the control group, and nothing is kept here.
 * Otherwise they and their descendants are polled and remembered by pidfds. A process that is
 * reparented between two polls escapes; the daemon searches for such processes at the end, by
 * their environment.
 */
#pragma once

#include <stdbool.h>

#include "proto/adopt.pb-c.h"
#include "slurmstepd/step/step.h"

/* -ERR_JOB_DONE: the step is ending; -ERR_TRANSITION: it is suspended; -ERR_BUSY: too many
 * processes; -ESRCH: the process has ended; otherwise the reason why it cannot be confined. */
int adopt_take(struct step *step, const Pb__StepdAdopt *m, struct err *err);
void adopt_done(struct step *step);

/* As in contain.h, for the remembered processes. */
void adopt_signal_all(struct step *step, int signo);
void adopt_stop_all(struct step *step);
bool adopt_has_left(struct step *step);
void adopt_describe(const struct step *step, struct str *out);
