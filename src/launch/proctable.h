/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of a starter of MPI programs to parallel debuggers (MPIR Process Acquisition
 * Interface): a table of the tasks' hosts, programs and process ids, and a function that is called
 * when the table is complete. A debugger that starts the command sets MPIR_being_debugged; one that
 * attaches later reads the table (CORE-236). The interface is process-wide.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool proctable_is_debugged(void); /* a debugger has started this process */
bool proctable_is_open(void);

/* program and step ("5.0") are copied. */
void proctable_open(uint32_t tasks, const char *program, const char *step);

/* Adds a running task; only the first call for a task counts, and numbers beyond the tasks are
 * ignored. host is borrowed for the life of the process. */
void proctable_put(uint32_t task, const char *host, uint32_t pid);

/* Calls the debugger's breakpoint function once, when every task is in the table; returns true
 * after it has returned. */
bool proctable_check(void);

/* Prints one line for each task in the table (--debugger-test). */
void proctable_tell(void (*say)(const char *fmt, ...));

void proctable_aborted(const char *why);
