/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The limits of a pass by SchedulerParameters: how many jobs of each queue it examines, and which
 * jobs get a planned start. They keep a pass from examining a long queue of jobs that cannot start.
 */
#pragma once

#include "sched/plan.h"

/* Whether the rest of the present partition's queue is skipped. */
bool depth_is_reached(const struct plan *p);
/* Counts a job behind a waiting job. False: the job is skipped, because enough jobs of its user
 * were examined. */
bool depth_takes(struct plan *p, const struct job *j);
/* Whether the job blocks jobs behind it and may get a planned start. */
bool depth_is_served(const struct plan *p, const struct job *j);
/* Whether the present partition has a planned start left for the job. 'first': no job before it
 * waits for nodes there. Jobs that need licences have a count of their own, whatever they wait for
 * at present, so that no such job loses its planned start to a job that had one before. */
bool depth_has_place(const struct plan *p, const struct job *j, bool first);
void depth_count_place(struct plan *p, const struct job *j);
/* In two modes: whether planned starts are left for this number of components. They have a count of
 * their own. 'first': no job before them waits in the partition. */
bool depth_has_places(const struct plan *p, uint32_t count, bool first);
/* Whether the start is too far in the future for a planned start. */
bool depth_is_beyond(const struct plan *p, int64_t at_sec);
void depth_enter_part(struct plan *p); /* resets the counts of the partition */
void depth_done(struct plan *p);
