/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --pty: srun's terminal becomes the far end of task 0's. Raw while the step runs, restored after
 * it; changes of its size are passed on.
 */
#pragma once

struct run;
struct terminal;

struct terminal *terminal_start(struct run *run);  /* NULL when stdin is no terminal */
void terminal_tell_size(const struct terminal *t); /* to the nodes that are here; t may be NULL */
void terminal_free(struct terminal *t);            /* restores it */
