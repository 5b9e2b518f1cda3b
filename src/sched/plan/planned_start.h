/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planned starts: the entries on the calendar for pending jobs that other jobs must not delay. A
 * job of several partitions may be the first of several queues: it then has one planned start for
 * each of them and starts at the earliest. Its planned starts do not block the job itself.
 */
#pragma once

#include "sched/plan.h"
#include "sched/plan/timeline.h"

/* Returns the job of a planned start with the values of that partition, possibly in 'room'
 * (job_partitions_view()). NULL: the job is no longer pending. */
const struct job *planned_start_job(const struct plan *p, const struct plan_head *h,
                                    struct job_copy *room);
/* Returns the time when the job, which has a planned start, can have its licences. 0: this time
 * cannot be foreseen, or is so distant that the planned start reserves no nodes. */
int64_t planned_start_license_time(struct plan *p, const struct job *j);
/* Finds the earliest start of the job on the timeline, whose licences are set for 'due'
 * (timeline_set_licenses()), and its nodes; see timeline_find(). */
int64_t planned_start_search(struct plan *p, struct timeline *t, const struct job *j,
                             const struct bitset *allowed, int64_t due, struct selection *where);
/* Puts all planned starts on the timeline, and returns the last one; 0: it cannot be foreseen,
 * because the job waits for unavailable nodes, and it reserves nothing. The timeline is only
 * created when a job could conflict with planned starts: few passes over a full cluster need
 * one. */
int64_t planned_start_lay_out(struct plan *p);
/* Like planned_start_lay_out(); a single planned start becomes a shadow (shadow.h), which is
 * cheaper. */
int64_t planned_start_lay_out_or_shadow(struct plan *p);
/* Returns the calendar with all planned starts that serves the job. NULL: it does not exist yet. */
struct calendar *planned_start_made_calendar(struct plan *p, const struct job *j);
/* Creates it if needed. */
struct calendar *planned_start_calendar(struct plan *p, const struct job *j);
void planned_start_set_time(struct plan *p, int64_t now_sec); /* of the calendars */
/* Drops the calendars; they are recreated when needed. */
void planned_start_forget(struct plan *p);
void planned_start_done(struct plan *p);

/* The number of planned starts of other jobs. */
size_t planned_start_others(const struct plan *p, const struct job *j);
/* Whether the job has a planned start. */
bool planned_start_has(const struct plan *p, const struct job *j);
/* Whether the job can begin now without delaying the planned starts on the calendar. If it can, its
 * own planned start is removed. */
bool planned_start_leaves_room(struct plan *p, const struct job *j, const struct resv *in,
                               const struct bitset *allowed, struct selection *where);
/* Removes the planned starts of this job. */
void planned_start_remove(struct plan *p, const struct job *j);

/* With --time-min: returns the longest limit with which the job, which fits now, delays no planned
 * start. 0: there is none, and nothing has changed. */
int64_t planned_start_shorten(struct plan *p, const struct job *j, const struct resv *in,
                              const struct bitset *allowed, struct selection *where);

/* A hash of the planned starts before this index: planned starts behind it depend on them. */
uint64_t planned_start_hash_before(const struct plan *p, size_t place);
/* Whether the last known start for this partition, whose entry is the last one, is still valid. If
 * it is, the planned start uses the alternative licence of that start. */
bool planned_start_is_known(struct plan *p, const struct job *j, int64_t *start_at);
/* Copies what was noted for a known planned start, the last one of the pass: its nodes if they
 * decide which tied pools the job uses; for a job set with tied pools or alternative licences also
 * the choice. False: this is needed but not noted. */
bool planned_start_recall(struct plan *p, const struct job *j, int64_t start_at);
/* Notes the nodes and the choice if the last planned start of the pass belongs to a set with tied
 * pools or alternatives. */
void planned_start_note_set(struct plan *p, const struct job *leader);
/* Claims the licences of the job whose planned start is the last of the pass. */
void planned_start_keep_licenses(struct plan *p, const struct job *j, int64_t start_at);
/* Returns the earliest start over all partitions; 0: unknown. 'found' is the start for the selected
 * partition. */
int64_t planned_start_earliest(const struct plan *p, const struct job *j, int64_t found);
