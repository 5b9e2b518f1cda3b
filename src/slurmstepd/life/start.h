/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the daemon's start message to running tasks. The claim comes first: our socket's name in the
 * spool directory, made by link(), which only one process ever can. So a step is started at most
 * once, whatever becomes of the daemon meanwhile.
 */
#pragma once

#include "slurmstepd/step/step.h"

void start_step(struct step *step, uint64_t id, const Pb__StepdStart *m);

/* Goes on when X11 forwarding is ready, see x11_start(). */
void start_resume(struct step *step);

/* A task has been set up or has ended: when all are, lets them run and answers the daemon. */
void start_check(struct step *step);

/* The step cannot be started: ends what has been set up, tells the daemon, ends this process. Of
 * several reasons the first counts. code is positive. */
void start_failed(struct step *step, int code, const char *text);
