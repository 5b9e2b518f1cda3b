/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What parallel debuggers read in a starter of MPI programs (MPIR Process Acquisition Interface): a
 * table of the tasks' hosts, programs and process ids, and a function that is called when it is
 * whole. A debugger that starts the command sets MPIR_being_debugged; one that attaches itself
 * later reads the table (CORE-236). Process-wide, as the interface is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool proctable_is_debugged(void); /* a debugger has started this process */
bool proctable_is_open(void);

/* program and step ("5.0") are copied. */
void proctable_open(uint32_t tasks, const char *program, const char *step);

/* A task runs: the first word about it counts; nothing of a number beyond the tasks. host is
 * borrowed for the life of the process. */
void proctable_put(uint32_t task, const char *host, uint32_t pid);

/* Once, when every task is in it: a debugger stops here, true when it has let us go on. */
bool proctable_check(void);

/* A line for each task that is in it (--debugger-test). */
void proctable_tell(void (*say)(const char *fmt, ...));

void proctable_aborted(const char *why);
