/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interfaces of timeline.c, timeline_search.c and timeline_cores.c for each other only. */
#pragma once

#include "sched/plan/timeline.h"

/* timeline_cores.c: for a job that takes whole cores of CPUs, sets view.broken of these nodes for
 * the time from 'from' to 'until'. 'reserved': other jobs have reservations. */
void timeline_find_broken(struct timeline *t, const struct job *j, const struct bitset *nodes,
                          int64_t from, int64_t until, bool reserved);

/* Adds a time at which resources become free or a start is possible. */
void timeline_add_moment(struct timeline *t, int64_t at);
/* Adds all ends of jobs up to that time, and all moments. */
void timeline_fill_until(struct timeline *t, int64_t at);
/* Fills the timeline until the moments up to this index are final, or there are no more. */
void timeline_fill_moments(struct timeline *t, size_t index);
/* Whether the job fits from that time to its limit beside the reservations; 'where' receives the
 * selection or stays empty. */
bool timeline_fits_from(struct timeline *t, const struct job *j, const struct bitset *allowed,
                        int64_t from, struct selection *where);
/* Whether the job fits at that time if only running jobs count. */
bool timeline_is_foreseen(struct timeline *t, const struct job *j, const struct bitset *allowed,
                          int64_t at, struct selection *where);
