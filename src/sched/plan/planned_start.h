/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planned starts: the places on the calendar of the pending jobs that others must not delay. A job
 * of several partitions can be the first of several queues: it then has a place for each of them,
 * and starts at the earliest. None of its places is in the way of the job itself.
 */
#pragma once

#include "sched/plan.h"
#include "sched/plan/timeline.h"

/* The job of a place with the values of that partition, perhaps in 'room' (job_partitions_view()).
 * NULL: the job is not pending any more. */
const struct job *planned_start_job(const struct plan *p, const struct plan_head *h,
                                    struct job_copy *room);
/* When the job, which has a place, can have its licences; 0: it cannot be foreseen, or is so far
 * away that the place keeps no nodes from others. */
int64_t planned_start_license_time(struct plan *p, const struct job *j);
/* Puts all places on the timeline, and returns the start of the last one; 0: it cannot be foreseen,
 * because the job waits for nodes that are down, and the place keeps nothing. The timeline is made
 * only when a job could touch what the places need: few passes over a full cluster have one. */
int64_t planned_start_lay_out(struct plan *p);
/* The same; a single place becomes a shadow (shadow.h), which is cheaper. */
int64_t planned_start_lay_out_or_shadow(struct plan *p);
/* The calendar that has all places and serves the job. NULL: it is not made. */
struct calendar *planned_start_made_calendar(struct plan *p, const struct job *j);
struct calendar *planned_start_calendar(struct plan *p, const struct job *j); /* makes it */
void planned_start_set_time(struct plan *p, int64_t now_sec);                 /* of the calendars */
/* Drops the calendars; they are made again when needed. */
void planned_start_forget(struct plan *p);
void planned_start_done(struct plan *p);

/* The number of places of other jobs. */
size_t planned_start_others(const struct plan *p, const struct job *j);
bool planned_start_has(const struct plan *p, const struct job *j); /* the job has a place */
/* Whether the job can begin now beside the places of others, which are on the calendar. Its own
 * place is removed when it can. */
bool planned_start_leaves_room(struct plan *p, const struct job *j, const struct resv *in,
                               const struct bitset *allowed, struct selection *where);
void planned_start_remove(struct plan *p, const struct job *j); /* the places of this job */

/* With --time-min: the longest limit with which the job, which fits now, delays no place; 0: there
 * is none, and nothing has changed. */
int64_t planned_start_shorten(struct plan *p, const struct job *j, const struct resv *in,
                              const struct bitset *allowed, struct selection *where);

/* A hash of the planned starts before this index: when they change, those after them do. */
uint64_t planned_start_hash_before(const struct plan *p, size_t place);
/* Whether the start found last for this partition, whose place is the last one, is still valid.
 * Then the place is for the alternative licence of that start. */
bool planned_start_is_known(struct plan *p, const struct job *j, int64_t *start_at);
/* Copies the nodes that are noted for a known planned start, the last of the pass, where they
 * decide which tied pools the job uses, and those and the choice of a job set with tied pools or
 * alternative licences. False: these are needed, and are not noted. */
bool planned_start_recall(struct plan *p, const struct job *j, int64_t start_at);
/* Notes them, where the last planned start of the pass was found for a set with tied pools or
 * alternatives. */
void planned_start_note_set(struct plan *p, const struct job *leader);
/* Claims the licenses of the job whose planned start is the last of the pass. */
void planned_start_keep_licenses(struct plan *p, const struct job *j, int64_t start_at);
/* The earliest start over all partitions; 0: none is known. 'found' is that of the selected one. */
int64_t planned_start_earliest(const struct plan *p, const struct job *j, int64_t found);
