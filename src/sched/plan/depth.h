/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of its queues a pass looks at, and who is given a place on the timeline, as
 * SchedulerParameters says: a long queue of jobs that cannot start is not looked at in every pass.
 */
#pragma once

#include "sched/plan.h"

/* The rest of the present partition's queue is not looked at. */
bool depth_is_reached(const struct plan *p);
/* Of a job behind one that waits: it is looked at, and counts. False: there were enough of its
 * user's. */
bool depth_takes(struct plan *p, const struct job *j);
/* It keeps others back, and may have a place. */
bool depth_is_served(const struct plan *p, const struct job *j);
/* There is one more place for it in the present partition. 'first': nobody before it waits for
 * nodes there. Those that need licences have places beside the others', whatever they wait for at
 * present: so nobody comes to lose one to a job that has had its own before it. */
bool depth_has_place(const struct plan *p, const struct job *j, bool first);
void depth_count_place(struct plan *p, const struct job *j);
/* Such a start is too far away for a place. */
bool depth_is_beyond(const struct plan *p, int64_t at_sec);
void depth_enter_part(struct plan *p); /* counts of a partition begin again */
void depth_done(struct plan *p);
