/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The step's control group: created before its tasks, entered by each child as root, read and
 * removed at its end. With proctrack/cgroup, processes are listed, signalled, stopped and ended
 * through it. Otherwise, and for children that have not entered it yet, reap.h is used.
 *
 * Out of memory: the kernel counts the processes that it has killed. A task that was killed
 * accounts for one of them and counts as out of memory; so does the last task, if some are left.
 */
#pragma once

#include <stdbool.h>

#include "slurmstepd/step/step.h"

/* Creates the control group of the start message; returns 0 without effect if there is none.
 * -ERR_NODE_FAULT: the node cannot confine the step and must not run it. */
int contain_open(struct step *step, struct err *err);
void contain_done(struct step *step);

/* Called as root in a child that is about to become the user. */
int contain_enter(const struct step *step, struct err *err);

/* Adds a process started by another program. */
int contain_take(const struct step *step, pid_t pid, struct err *err);
bool contain_tracks(const struct step *step); /* whether the control group tracks processes */

/* Like reap_signal_all() and so on, for all processes of the step. */
void contain_signal_all(struct step *step, int signo);
void contain_stop_all(struct step *step);
/* Thaws what contain_stop_all() has frozen; sends no signal. */
void contain_go_on(struct step *step);
bool contain_has_left(struct step *step);
/* Whether users' signals go to all processes instead of the process groups of the tasks. */
bool contain_signals_all(const struct step *step);
/* "control group slurm/...", or "no control group". */
void contain_describe_place(const struct step *step, struct str *out);
void contain_describe(const struct step *step, struct str *out); /* like reap_describe() */

/* The tasks run: with --oom-kill-step, ends the step when the kernel has killed a process of
   it. */
void contain_watch(struct step *step);
/* Returns the status of an ended task, replaced if the task ran out of memory. */
int contain_status(struct step *step, int wait_status);
/* No process is left: reads the usage and the out-of-memory state, and removes the directory. */
void contain_end(struct step *step, Pb__Usage *usage, Pb__StepdEnded *m);
