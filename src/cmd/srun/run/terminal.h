/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --pty: srun's terminal becomes the far end of task 0's. Raw while the step runs, restored after
 * it; changes of its size are passed on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run;
struct terminal;

struct terminal *terminal_start(struct run *run);              /* NULL when stdin is no terminal */
void terminal_tell_node(const struct run *run, uint32_t node); /* its size, if there is one */
void terminal_free(struct terminal *t);                        /* restores it */
void terminal_forget(struct terminal *t);                      /* leaves it alone */
