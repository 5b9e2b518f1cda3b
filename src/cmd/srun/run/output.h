/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tasks write: to srun's own stdout and stderr or to files srun opens, in whole lines,
 * labelled if asked for. Each part of the step has files of its own, or those handed on to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct run;
struct output;

/* Opens files; run->step is there. -ERR_OPEN_IO. */
int output_open(struct run *run, struct output **out, struct err *err);
void output_free(struct output *o);

/* stream 1 or 2; len 0 is a task's end of file. */
void output_data(struct output *o, uint32_t task, uint32_t stream, const void *data, size_t len);

/* What a task has left unfinished, on both streams. */
void output_task_end(struct output *o, uint32_t task);

/* What goes to srun's standard output or error goes to this file from now on, which is taken, what
 * waits first; nothing else does. */
void output_move(struct output *o, int number, int fd, const char *name);

bool output_is_full(
    const struct output *o); /* stop the senders: run->on->output_drained() follows */
bool output_is_empty(const struct output *o);
void output_drop(struct output *o); /* waits for nobody any more */

/* What the nodes that are launched with a part are to open instead, or NULL. Parts that share them
 * have the same file there (output_node_file()), or none. */
const char *output_node_pattern(const struct output *o, uint32_t part, int stream);
/* The pattern of the part, when nodes open its files; else NULL. */
const char *output_node_file(const struct output *o, uint32_t part, int stream);
