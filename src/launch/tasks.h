/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What srun knows about the tasks of its step: which run, which have ended and how. Gathers the
 * ends of tasks into few messages ("node1: tasks 0-3: Exited with exit code 1") and works out the
 * exit status of srun.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "proto/step.pb-c.h"

enum tasks_state {
    TASKS_STARTING,
    TASKS_RUNNING,
    TASKS_FAILED,   /* could not be started */
    TASKS_EXITED,   /* with status 0 */
    TASKS_ABNORMAL, /* with another status, or by a signal */
    TASKS_LOST,     /* its node is gone */
    TASKS_STATES
};

struct tasks;

/* node_of[i] is the index of task i's node, node_names[...] its name; both are copied. */
struct tasks *tasks_new(uint32_t count, const uint32_t *node_of, const char *const *node_names,
                        uint32_t nodes);
/* The tasks of a step as it is laid out on its nodes. */
struct tasks *tasks_of_layout(Pb__StepNode *const *layout, size_t nodes, uint32_t count);
void tasks_free(struct tasks *t);

/* Each returns whether this was news: a repeat, or a number beyond the tasks, is not. A task that
 * has ended stays as it ended. */
bool tasks_started(struct tasks *t, uint32_t task);
bool tasks_failed(struct tasks *t, uint32_t task, int exit_code);
bool tasks_exited(struct tasks *t, uint32_t task, int wait_status);
bool tasks_lost(struct tasks *t, uint32_t task, int wait_status); /* ended unseen; counts as this */

uint32_t tasks_count(const struct tasks *t);
uint32_t tasks_ended(const struct tasks *t); /* in whatever way */
bool tasks_all_ended(const struct tasks *t);
bool tasks_is_over(const struct tasks *t, uint32_t task);
int tasks_worst_status(const struct tasks *t); /* wait status of the task that decides */
int tasks_exit_code(const struct tasks *t);    /* the highest; 128 + number for a signal */

/* Says what has ended since the last call, per node and status: say(ctx, failed, text). */
typedef void tasks_say_fn(void *ctx, bool failed, const char *text);
void tasks_tell_ends(struct tasks *t, tasks_say_fn *say, void *ctx);
void tasks_tell_once(struct tasks *t); /* successive ends with the same status: one line */

/* "StepId=5.0 tasks 0-2,4: running", a line per state that any task is in. */
void tasks_tell_states(const struct tasks *t, const char *step, tasks_say_fn *say, void *ctx);

/* "Exited with exit code 3", "Segmentation fault (core dumped)". */
void tasks_describe(int wait_status, struct str *out);
