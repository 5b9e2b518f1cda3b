/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Victims of preemption: the jobs whose end lets another job start. Part of preempt.h. */
#pragma once

#include "sched/plan.h"

/* Finds nodes among 'allowed' on which the job fits after the end of the jobs that are already
 * ending and of the victims in p->victims; every victim is necessary. False: there are none, or the
 * job fits now; 'look_at' is then the time at which a job stops being exempt from preemption, or 0.
 * 'reclaims': victims also return their licences of pools. */
bool victims_find(struct plan *p, const struct job *j, const struct bitset *allowed, bool reclaims,
                  struct selection *where, int64_t *look_at);

/* Like victims_find() for a set, whose components are placed jointly; 'where' has the nodes of all
 * components. */
struct joint;
bool victims_find_for_set(struct plan *p, const struct job *leader, struct joint *joint,
                          struct selection *where, int64_t *look_at);
