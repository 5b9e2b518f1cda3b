/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the daemon's start message to running tasks. The claim comes first: link() creates our
 * socket's name in the spool directory, which succeeds for one process only. A step is therefore
 * started at most once, even if the daemon restarts meanwhile.
 */
#pragma once

#include "slurmstepd/step/step.h"

void start_step(struct step *step, uint64_t id, const Pb__StepdStart *m);

/* Continues when X11 forwarding is ready, see x11_start(). */
void start_resume(struct step *step);

/* A task has been set up or has ended: when all tasks are ready, lets them run and answers the
   daemon. */
void start_check(struct step *step);

/* The step cannot be started: ends the tasks that are set up, tells the daemon, and exits. The
 * first reason is reported. code is positive. */
void start_failed(struct step *step, int code, const char *text);
