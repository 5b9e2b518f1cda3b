/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passes in two modes (conf_sets_have_two_modes()), which place the components of a set
 * individually as Slurm does: each component is a job of its own with the earliest start beside the
 * jobs before it in the queue, and this start is reserved. A set starts when all of its components
 * could start now. The modes alternate from pass to pass:
 *
 *   mode 1: a component cannot start before the starts of the components examined before it. The
 *   latest start of the set is noted.
 *   mode 2: no component starts before the noted start, so that other jobs may use what the
 *   components reserved in mode 1. Then the notes are dropped: resources that became free count in
 *   the next pass.
 *
 * Both modes do not affect the planning of ordinary jobs. The default is joint placement (joint.h),
 * which starts sets earlier and keeps fewer nodes idle.
 */
#pragma once

#include "sched/plan.h"

/* Sets the mode of a new pass to the next one. The pass changes the notes at its end. */
void two_mode_begin(struct plan *p);

/* Examines one component in a partition. True: 'd' has a decision about the component or about its
 * set, then a PLAN_START of its leader. */
bool two_mode_look(struct plan *p, const struct job *j, bool counts, struct decision *d);

/* Returns a set that starts, at the end of the queues. False: there are no more. */
bool two_mode_next_start(struct plan *p, struct decision *d);
/* Ends the pass after all queues. */
void two_mode_complete(struct plan *p);
