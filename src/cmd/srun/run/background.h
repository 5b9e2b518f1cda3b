/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moves srun to the background when the user types ~& on the terminal. Another srun, a child
 * process in a session of its own, takes over the step, its connections and all unwritten output;
 * this srun gives the terminal back and ends. From then on the tasks' output goes to files in the
 * working directory, and there is no terminal input (CORE-202, CORE-203; docs/adr/0019).
 */
#pragma once

#include <stdbool.h>

struct run;

void background_ask(struct run *run); /* the user typed ~& */

/* Call when the loop has stopped. True: the loop must run again, either in the new srun or because
 * the move failed (the user is told). False: no move was requested. Does not return in the srun
 * that ends. */
bool background_pass(struct run *run);
