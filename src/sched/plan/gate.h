/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gates of gate.def that the planner asks. */
#pragma once

#include <stdbool.h>

#include "cluster/job/reason.h"

struct job;
struct plan;

/* Of a queued job at the place that the pass has come to; REASON_NONE: all are open. 'keeps_place':
 * the closed one leaves it the nodes that it waits for. */
enum reason gate_of_start(const struct plan *p, const struct job *j, bool *keeps_place);
