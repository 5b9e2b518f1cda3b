/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes for a job that begins later: as few as possible of those that somebody could use now. */
#pragma once

#include "sched/plan.h"

/* It fits on 'allowed' in this view, and 'where' says on which: chooses others where that leaves
 * more of what is free now to jobs that could begin now. */
void later_choose(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                  const struct free_view *view, struct selection *where);
