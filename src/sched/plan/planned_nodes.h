/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes for a job that begins later: as few as possible of those that pending jobs could use now.
 */
#pragma once

#include "sched/plan.h"

/* 'where' is a selection for the job among 'allowed' in this view. Replaces it by another one that
 * leaves more of what is free now to jobs that could begin now, where there is one. */
void planned_nodes_choose(const struct cluster *c, const struct job *j,
                          const struct bitset *allowed, const struct free_view *view,
                          struct selection *where);
