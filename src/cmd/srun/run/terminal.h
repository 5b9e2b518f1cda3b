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

struct terminal *terminal_start(struct run *run); /* NULL when stdin is no terminal */
/* false: it has none; t may be NULL. */
bool terminal_size(const struct terminal *t, uint32_t *rows, uint32_t *columns);
void terminal_free(struct terminal *t);   /* restores it */
void terminal_forget(struct terminal *t); /* leaves it alone */
