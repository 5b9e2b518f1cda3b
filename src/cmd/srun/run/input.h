/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tasks read: srun's standard input or files, sent to all tasks or to one; each part of
 * the step has what it asks for, or what was handed on to it. Reading stops while a node does not
 * take more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct run;
struct input;

/* Opens a file; run->step is there. Nothing is read before input_start(). -ERR_OPEN_IO, -ERR_RANGE.
 */
int input_open(struct run *run, struct input **out, struct err *err);
void input_free(struct input *in);

void input_start(struct input *in);              /* every node has said hello */
void input_pause(struct input *in, bool paused); /* a node's session is full */
void input_stop(struct input *in);               /* nobody reads any more */
/* Nobody types any more: the tasks' input ends. The terminal of --pty has no end; it is silent. */
void input_leave(struct input *in);

/* For the launch of a part: "all", "none", "3". */
const char *input_mode(const struct input *in, uint32_t part);
/* What the nodes are to open for the tasks of a part, or NULL. */
const char *input_node_file(const struct input *in, uint32_t part);
