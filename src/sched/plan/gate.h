/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gates of cluster/job/reason.def that the planner asks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cluster/job/reason.h"

struct job;
struct plan;

/* Of a queued job at the place that the pass has come to; REASON_NONE: all are open. 'keeps_place':
 * the closed one leaves it the nodes that it waits for. */
enum reason gate_of_start(const struct plan *p, const struct job *j, bool *keeps_place);

/* The name of the gate in this row, and its reason for the job at that place; a gate that gave the
 * job its present reason is closed. NULL: there are no more rows. */
const char *gate_ask(const struct plan *p, const struct job *j, size_t row, enum reason *reason);

/* gate_license.c: a row */
enum reason gate_licenses(const struct plan *p, const struct job *j);
