/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --pty: srun's terminal acts as the remote end of task 0's terminal. It is raw while the step runs
 * and restored afterwards; changes of its size are forwarded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run;
struct terminal;

struct terminal *terminal_start(struct run *run); /* NULL if stdin is not a terminal */
/* Sends the terminal's size, if there is one. */
void terminal_tell_node(const struct run *run, uint32_t node);
void terminal_free(struct terminal *t);   /* restores the terminal */
void terminal_forget(struct terminal *t); /* does not restore the terminal */
