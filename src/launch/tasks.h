/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of the tasks of srun's step: which ones run, which have ended and how. Combines the
 * ends of tasks into few messages ("node1: tasks 0-3: Exited with exit code 1") and computes the
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
    TASKS_LOST,     /* the node is lost */
    TASKS_STATES
};

struct tasks;

/* node_of[i] is the index of task i's node, node_names[] the names by that index; both are copied.
 */
struct tasks *tasks_new(uint32_t count, const uint32_t *node_of, const char *const *node_names,
                        uint32_t nodes);
/* The tasks of a step by its layout. */
struct tasks *tasks_of_layout(Pb__StepNode *const *layout, size_t nodes, uint32_t count);
void tasks_free(struct tasks *t);

/* Each returns whether the state has changed: a repeated call, or a number beyond the tasks, has no
 * effect. The first end of a task counts. */
bool tasks_started(struct tasks *t, uint32_t task);
/* code: an error number; its exit code is that number if it is one of errno(3), otherwise 1. */
bool tasks_failed(struct tasks *t, uint32_t task, int code);
bool tasks_exited(struct tasks *t, uint32_t task, int wait_status);
/* The end was not seen; counts as this status. */
bool tasks_lost(struct tasks *t, uint32_t task, int wait_status);

uint32_t tasks_count(const struct tasks *t);
uint32_t tasks_ended(const struct tasks *t); /* number of ended tasks, however they ended */
bool tasks_all_ended(const struct tasks *t);
bool tasks_is_over(const struct tasks *t, uint32_t task);
/* Wait status of the task that determines srun's status. */
int tasks_worst_status(const struct tasks *t);
int tasks_exit_code(const struct tasks *t); /* the highest exit code; 128 + number for a signal */

/* Reports the ends since the last call, by node and status: say(ctx, failed, text). */
typedef void tasks_say_fn(void *ctx, bool failed, const char *text);
void tasks_tell_ends(struct tasks *t, tasks_say_fn *say, void *ctx);
void tasks_tell_once(struct tasks *t); /* consecutive ends with the same status are reported once */

/* Prints "StepId=5.0 tasks 0-2,4: running", one line for each state that occurs. */
void tasks_tell_states(const struct tasks *t, const char *step, tasks_say_fn *say, void *ctx);

/* Appends "Exited with exit code 3", "Segmentation fault (core dumped)". */
void tasks_describe(int wait_status, struct str *out);
