/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Within this room: whose leaving would make room for a job; part of preempt.h. */
#pragma once

#include "sched/plan.h"

/* Where there is room for the job on the allowed nodes when those have gone who are leaving, and
 * those in p->victims, of whom none could be spared. False: nowhere, or there is room now; then
 * 'look_at' is the time when somebody is not exempt any more, 0: nobody was. */
bool hunt(struct plan *p, const struct job *j, const struct bitset *allowed,
          struct selection *where, int64_t *look_at);

/* The same of a set, whose components are placed jointly. 'where' has the nodes of all of them. */
struct joint;
bool hunt_for_set(struct plan *p, const struct job *leader, struct joint *joint,
                  struct selection *where, int64_t *look_at);
