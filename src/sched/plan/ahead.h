/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The jobs that wait and have a place on the timeline, and what they keep for themselves. One that
 * may run in several partitions can be the first of several queues: then it has a place in each,
 * and starts at the first one that comes. None of them is in the way of the job itself.
 */
#pragma once

#include "sched/plan.h"
#include "sched/plan/timeline.h"

/* The job of a place, as it is in that partition: perhaps in 'room', see job_partitions_view().
 * NULL: it waits no more. */
const struct job *ahead_job(const struct plan *p, const struct plan_head *h, struct job_copy *room);
/* When the licences of one that has a place are due; 0: not to be foreseen, or so far away that it
 * is to be in nobody's way on the nodes. */
int64_t ahead_licensed(struct plan *p, const struct job *j);
/* The timeline with all places on it, and when the last one is to start; 0: it can not be foreseen,
 * because it waits for nodes that are down, and it keeps nothing. It is made when something could
 * touch what they need: a full cluster has many looks at its queue, and few of them do. */
int64_t ahead_lay_out(struct plan *p);
/* The same, where one place alone may cast a shadow. */
int64_t ahead_look(struct plan *p);
/* The calendar with all places on it that serves the job. NULL: it would have to be made first. */
struct calendar *ahead_made(struct plan *p, const struct job *j);
struct calendar *ahead_calendar(struct plan *p, const struct job *j); /* and it is made */
void ahead_set_time(struct plan *p, int64_t now_sec);                 /* of the calendars */
void ahead_forget(struct plan *p); /* what was laid out; it is made again when it is needed */
void ahead_done(struct plan *p);

/* How many places there are of others than this job. */
size_t ahead_others(const struct plan *p, const struct job *j);
bool ahead_has(const struct plan *p, const struct job *j); /* it has one itself */
/* All being laid out: whether the job can begin beside those of others. It has none any more when
 * it can. */
bool ahead_leaves_room(struct plan *p, const struct job *j, const struct resv *in,
                       const struct bitset *allowed, struct selection *where);
void ahead_remove(struct plan *p, const struct job *j); /* its own */

/* With --time-min: the job, which fits now, begins at once with the longest limit that touches
 * nothing of what others keep; 0: there is none, and nothing has changed. */
int64_t ahead_shorten(struct plan *p, const struct job *j, const struct resv *in,
                      const struct bitset *allowed, struct selection *where);

/* Whether its start in this partition as it was found last still holds. */
bool ahead_is_known(const struct plan *p, const struct job *j, int64_t *start_at);
/* The earliest of its partitions; 0: none is known. 'found': of the present one. */
int64_t ahead_earliest(const struct plan *p, const struct job *j, int64_t found);
