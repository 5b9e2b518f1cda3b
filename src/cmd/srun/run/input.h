/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The input of the tasks: srun's standard input or files, sent to all tasks or to one. Each part of
 * the step has its own choice, or an input handed on to srun. Reading stops while a node accepts no
 * more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct run;
struct input;

/* Opens the files; run->step must be set. Reading starts with input_start(). Returns -ERR_OPEN_IO
 * or -ERR_RANGE on failure. */
int input_open(struct run *run, struct input **out, struct err *err);
void input_free(struct input *in);

void input_start(struct input *in);              /* every node has connected */
void input_pause(struct input *in, bool paused); /* a node's session is full */
void input_stop(struct input *in);               /* no task reads input any longer */
/* srun moves to the background: the tasks' input ends. With --pty the terminal has no end; it only
 * stops sending. */
void input_leave(struct input *in);

/* For the launch of a part: "all", "none", "3". */
const char *input_mode(const struct input *in, uint32_t part);
/* The file that the nodes open for the tasks of a part, or NULL. */
const char *input_node_file(const struct input *in, uint32_t part);
