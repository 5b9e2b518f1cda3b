/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Victims of preemption: the jobs whose end makes room for another. Part of preempt.h. */
#pragma once

#include "sched/plan.h"

/* Finds nodes among 'allowed' on which the job fits when the jobs that are ending, and the victims
 * in p->victims, have gone; none of the victims can be spared. False: there are none, or the job
 * fits now. 'reclaims': victims also return what they hold of pools. 'look_at' is then the time at
 * which a job stops being exempt from preemption; 0: none is. */
bool victims_find(struct plan *p, const struct job *j, const struct bitset *allowed, bool reclaims,
                  struct selection *where, int64_t *look_at);

/* The same for a set, whose components are placed jointly; 'where' has the nodes of all of them. */
struct joint;
bool victims_find_for_set(struct plan *p, const struct job *leader, struct joint *joint,
                          struct selection *where, int64_t *look_at);
