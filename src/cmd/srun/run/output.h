/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The output of the tasks: written to srun's own stdout and stderr or to files that srun opens, in
 * whole lines, with labels if requested. Each part of the step has its own files, or those handed
 * on to srun.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct run;
struct output;

/* Opens the files; run->step must be set. Returns -ERR_OPEN_IO on failure. */
int output_open(struct run *run, struct output **out, struct err *err);
void output_free(struct output *o);

/* stream 1 or 2; len 0 is a task's end of file. */
void output_data(struct output *o, uint32_t task, uint32_t stream, const void *data, size_t len);

/* Writes the task's incomplete last lines, on both streams. */
void output_task_end(struct output *o, uint32_t task);

/* From now on, output for srun's standard output or error goes to this descriptor, which is taken
 * over; waiting output is written first. Other output is unaffected. */
void output_move(struct output *o, int number, int fd, const char *name);

bool output_is_full(
    const struct output *o); /* senders must stop; run->on->output_drained() follows */
bool output_is_empty(const struct output *o);
void output_drop(struct output *o); /* discards the output that is still waiting */

/* The pattern that the nodes launched with a part open instead, or NULL. Parts that share nodes
 * have the same file there (output_node_file()), or none. */
const char *output_node_pattern(const struct output *o, uint32_t part, int stream);
/* The part's pattern if the nodes open its files; otherwise NULL. */
const char *output_node_file(const struct output *o, uint32_t part, int stream);
