/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gates of cluster/job/reason.def that the planner evaluates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cluster/job/reason.h"

struct job;
struct plan;

/* Returns the reason of the first closed gate for a queued job at the present place of the pass;
 * REASON_NONE: all gates are open. 'keeps_place': the job still reserves the nodes that it waits
 * for. */
enum reason gate_of_start(const struct plan *p, const struct job *j, bool *keeps_place);

/* Returns the name of the gate in this row, and its reason for the job at that place. A gate counts
 * as closed if it gave the job its present reason. NULL: there are no more rows. */
const char *gate_ask(const struct plan *p, const struct job *j, size_t row, enum reason *reason);

/* gate_license.c: the gate of one row. */
enum reason gate_licenses(const struct plan *p, const struct job *j);
