/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the end of a task brings about: srun says so, several in one message; with --wait, or after
 * a bad one with --kill-on-bad-exit, the others have to end too.
 */
#pragma once

#include <stdbool.h>

struct run;
struct ends;

struct ends *ends_new(struct run *run); /* run->tasks are there */
void ends_free(struct ends *e);

/* A task has ended, in whatever way. */
void ends_task(struct ends *e, bool bad);
/* Nothing is left on the nodes: what was not said yet is. */
void ends_all(struct ends *e);

/* How all tasks are; of no step, NULL: nothing. */
void ends_tell_states(const struct ends *e);
