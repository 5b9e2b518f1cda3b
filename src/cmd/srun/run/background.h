/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Into the background, by ~& on the terminal: another srun, a child of this one in a session of its
 * own, goes on with the step, its connections and all that was not written yet; this one gives the
 * terminal back and ends. What the tasks write then goes to files in the working directory, and
 * nobody types (CORE-202, CORE-203; docs/adr/0019).
 */
#pragma once

#include <stdbool.h>

struct run;

void background_ask(struct run *run); /* it was typed */

/* When the loop has stopped: true, it is to run on, be it since this is now the other srun, or
 * since that could not be (the user is told). False: nobody asked. Does not return in the srun that
 * ends. */
bool background_pass(struct run *run);
