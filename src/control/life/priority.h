/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The priorities of pending jobs: the right to set them, ageing, and recomputation (docs/adr/0012).
 * The queues are ordered by priority; enqueue_job() inserts jobs.
 */
#pragma once

#include "control/control.h"
#include "sched/plan/prio.h"

struct ranking { /* state of priority.c for pending jobs */
    struct prio_rule rule;
    bool known;     /* the rule is valid for the present configuration */
    int64_t at_sec; /* common time for the ages of all jobs */
    int64_t due_ms; /* next recomputation; INT64_MAX: never */
    bool moving;    /* the queues are being recomputed: position in the walk */
    size_t part;    /* in the queue of this partition, behind (key, tie) */
    bool looked, moved;
    int64_t key;
    uint64_t tie;
};

/* Checks the range of given or changed values, and the caller's right to set them. */
int priority_check(const struct caller *who, const Pb__JobSpec *spec, struct err *err);
void priority_start(struct control *c);
void priority_done(struct control *c);
void priority_forget(struct control *c); /* partitions or the configuration have changed */
void priority_set(struct control *c, struct job *j); /* for a pending job, before it is queued */
void priority_set_all(struct control *c, struct job *j); /* in each of its partitions */
/* Returns the priority by its factors, before it is bounded by 1 and UINT32_MAX. */
int64_t priority_unbounded(struct control *c, const struct job *j);
/* Sets the priority explicitly, until the job is held and released (priority/multifactor). */
void priority_give(struct job *j, uint32_t priority);
/* Whether this priority is higher than the job's present one in a partition, also later when the
 * nice value that is set with it is changed back. */
bool priority_would_rise(struct control *c, const struct job *j, uint32_t priority, int32_t nice);
void priority_released(struct control *c, struct job *j);
/* Its nice value has changed. */
void priority_nice(struct control *c, struct job *j, int32_t before);
void priority_set_nice(struct job *j, int32_t nice); /* sets the request only */
/* Sets whether passing time counts for its age. */
void priority_accrue(struct control *c, struct job *j, bool counts);
void priority_turn(struct control *c); /* continues the recomputation of the queues */
void priority_tick(struct control *c);
int64_t priority_due_ms(const struct control *c); /* INT64_MAX: never */
