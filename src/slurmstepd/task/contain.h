/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The step's control group: made before its tasks, entered by each child as root, read and removed
 * at its end. Where processes are tracked by it (proctrack/cgroup), that is how they are found,
 * signalled, stopped and ended; else, and for children that are not in it yet, by reap.h.
 *
 * Out of memory: the kernel counts the processes that it ended. A task that was killed takes one
 * of them on itself, and has run out of memory; so has the last one, if some are left.
 */
#pragma once

#include <stdbool.h>

#include "slurmstepd/step/step.h"

/* As the start message has it; 0 with nothing to do when it has none. -ERR_NODE_FAULT: the node
 * cannot hold the step to what it was given, and must not run it. */
int contain_open(struct step *step, struct err *err);
void contain_done(struct step *step);

/* In a child that is to become the user, as root. */
int contain_enter(const struct step *step, struct err *err);

/* A process from elsewhere. */
int contain_take(const struct step *step, pid_t pid, struct err *err);
bool contain_tracks(const struct step *step); /* by the control group */

/* As reap_signal_all() and its like, of all processes of the step. */
void contain_signal_all(struct step *step, int signo);
void contain_stop_all(struct step *step);
void contain_go_on(struct step *step); /* what contain_stop_all() froze; sends no signal */
bool contain_has_left(struct step *step);
/* Signals that users send go to all, not to the groups of the tasks. */
bool contain_signals_all(const struct step *step);
/* "control group slurm/...", or "no control group". */
void contain_describe_place(const struct step *step, struct str *out);
void contain_describe(const struct step *step, struct str *out); /* as reap_describe() */

/* The tasks run: with --oom-kill-step the step ends when the kernel has ended a process of it. */
void contain_watch(struct step *step);
/* The status of a task that has ended, or that of one that ran out of memory. */
int contain_status(struct step *step, int wait_status);
/* Nothing lives any more: what was used, whether memory was short; the directory goes. */
void contain_end(struct step *step, Pb__Usage *usage, Pb__StepdEnded *m);
