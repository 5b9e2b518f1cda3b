/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of nodes for a job with a later start: it uses as few as possible of the nodes that
 * pending jobs could use now. */
#pragma once

#include "sched/plan.h"

/* 'where' is a selection for the job among 'allowed' in this view. Replaces it by a selection that
 * leaves more of the presently free resources to jobs that could begin now, if there is one. */
void planned_nodes_choose(const struct cluster *c, const struct job *j,
                          const struct bitset *allowed, const struct free_view *view,
                          struct selection *where);
