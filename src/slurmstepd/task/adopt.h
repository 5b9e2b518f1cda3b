/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that others have started and that come to belong to the extern step: a login by ssh,
 * say. Where the step's control group tracks processes they are in it, and nothing is kept here.
 * Else they and their descendants are looked at again and again and remembered by handles: one that
 * leaves its parents between two looks is lost to us (the daemon looks for such at the end, by
 * their environment).
 */
#pragma once

#include <stdbool.h>

#include "proto/adopt.pb-c.h"
#include "slurmstepd/step/step.h"

/* -ERR_JOB_DONE: the step ends; -ERR_TRANSITION: it is suspended; -ERR_BUSY: there are too many;
 * -ESRCH: the process has ended; else what keeps it from being confined. */
int adopt_take(struct step *step, const Pb__StepdAdopt *m, struct err *err);
void adopt_done(struct step *step);

/* As in contain.h, of those that are remembered. */
void adopt_signal_all(struct step *step, int signo);
void adopt_stop_all(struct step *step);
bool adopt_has_left(struct step *step);
void adopt_describe(const struct step *step, struct str *out);
