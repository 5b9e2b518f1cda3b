/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What parallel debuggers read in a starter of MPI programs (MPIR Process Acquisition Interface): a
 * table of the tasks' hosts, programs and process ids, and a function that is called when it is
 * whole. A debugger that starts srun sets MPIR_being_debugged; the tasks then stand before main
 * until that function has returned. One that attaches itself later reads the table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/io.pb-c.h"

struct run;

bool mpir_is_debugged(void);

/* Of the tasks of a node, once for each; returns true when the table is whole, and the debugger has
 * let it go on: the tasks may. */
bool mpir_started(struct run *run, uint32_t node, const struct Pb__TasksStarted *started);
void mpir_aborted(const char *why);
