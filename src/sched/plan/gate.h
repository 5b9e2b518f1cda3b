/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The gates of cluster/job/reason.def that the planner evaluates, and what they ask: the limits of
 * a partition and the pending elements of an array.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cluster/cluster.h"
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
/* Notes for the next passes what the gate of licences has found in this look. */
void gate_note_licenses(struct plan *p, const struct job *j);
/* Whether the gate has found, in this look or before, that tied pools have too little for the job
 * on the nodes with a free CPU: it cannot start, whatever else it needs. */
bool gate_lacks_tied(const struct plan *p, const struct job *j);

/* Returns the number of pending array elements, which share one record, that may start now as far
 * as the array and its dependencies permit; 1 for a job that is not an array. */
uint32_t gate_count_elements(const struct job *j);

/* Checks the limits of a partition that apply to the job now: time limit, number of nodes, memory.
 * Returns 0, or the ERR_* for the exceeded limit; *reason is then Slurm's reason for it. */
int gate_find_breach(const struct conf *conf, const struct job *j, enum reason *reason);
