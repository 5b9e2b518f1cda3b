/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun's part in what parallel debuggers read (launch/proctable.h): with one that has started
 * srun, tasks stand before main until it has seen the table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/io.pb-c.h"

struct run;

/* Of the tasks of a node, once for each; returns true when the table is whole, and the debugger has
 * let it go on: the tasks may. */
bool mpir_started(struct run *run, uint32_t node, const struct Pb__TasksStarted *started);
