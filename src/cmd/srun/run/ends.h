/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handling of a task's end: srun reports ends, several in one message; with --wait, or after a
 * failure with --kill-on-bad-exit, it ends the other tasks.
 */
#pragma once

#include <stdbool.h>

struct run;
struct ends;

struct ends *ends_new(struct run *run); /* run->tasks must be set */
void ends_free(struct ends *e);

/* A task has ended; 'bad': with an error. */
void ends_task(struct ends *e, bool bad);
/* All nodes are done: reports the remaining ends. */
void ends_all(struct ends *e);

/* Prints the states of all tasks; NULL: prints nothing. */
void ends_tell_states(const struct ends *e);
