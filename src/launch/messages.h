/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages of a command on its standard error. While a loop runs, lines that stderr does not take
 * wait in memory, and the command continues. One queue per process, in the thread of the loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "launch/sink.h"

/* From now on lines wait in this loop, which stays the caller's; until then, and after
 * messages_finish(), a line is written at once, however long stderr takes. program names the
 * command in the note about lost lines, and stays the caller's. */
void messages_queue(struct loop *l, const char *program, const struct sink_events *events);

/* Lines before messages_queue(): what stderr does not take at once waits for it, for the next
 * message, or for the exit of the process. */
void messages_write_first(const struct str *lines);

/* Whole lines. end: of a line, "\n", or "\r\n" on a raw terminal. Of a queue that is full the next
 * line tells how many were lost. */
void messages_write(const struct str *lines, const char *end);

/* The lines of a process that is about to exit, for which it waits at most wait_ms. */
void messages_write_within(const struct str *lines, int64_t wait_ms);

void messages_hurry(void);     /* a line that stderr does not take at once is lost from now on */
bool messages_are_empty(void); /* no line waits that is worth waiting for */
void messages_forget(void);    /* waiting lines are another process's; stderr is another file */

/* The loop ends: waiting lines are written, for at most wait_ms, then they are lost; negative:
 * however long stderr takes. */
void messages_finish(int64_t wait_ms);
