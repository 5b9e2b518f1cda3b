/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passes in two modes (conf_sets_have_two_modes()), as Slurm plans components: each component is a
 * job of its own to the planner, with the earliest start that it has beside those before it in the
 * queue, and that place is kept for it. A set starts when all of its components could start now.
 * Modes alternate from pass to pass:
 *
 *   mode 1: a component has no start before the starts of the components that were looked at before
 *           it. The latest start of the set is noted.
 *   mode 2: no component has a start before the one that was noted, so that others may have what
 * the components of mode 1 kept. Then the notes are dropped: what has become free counts in the
 * next pass.
 *
 * Ordinary jobs are planned in both modes as without them. Placing the components jointly (joint.h)
 * is the default: it starts sets earlier and keeps fewer nodes idle.
 */
#pragma once

#include "sched/plan.h"

/* The pass that has been begun is one of the next mode. It changes the notes when it is over. */
void two_mode_begin(struct plan *p);

/* Looks at one component, as it is in a partition. True: there is a decision about it, or about its
 * set: a PLAN_START of its leader. */
bool two_mode_look(struct plan *p, const struct job *j, bool counts, struct decision *d);

/* At the end of the queues: a set that starts. False: there are no more. */
bool two_mode_next_start(struct plan *p, struct decision *d);
/* All has been looked at. */
void two_mode_complete(struct plan *p);
