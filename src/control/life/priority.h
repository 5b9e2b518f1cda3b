/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The priorities of pending jobs: who may give them, what ages, and when they are made anew
 * (docs/adr/0012). The queues are ordered by them, which enqueue_job() does.
 */
#pragma once

#include "control/control.h"
#include "sched/plan/prio.h"

struct ranking { /* of pending jobs, priority.c */
    struct prio_rule rule;
    bool known;     /* the rule is that of the present configuration */
    int64_t at_sec; /* the ages of all are those of then */
    int64_t due_ms; /* they are next made later; INT64_MAX: never */
    bool moving;    /* the queues are gone through: */
    size_t part;    /* in the queue of this one, behind this place */
    bool looked, moved;
    int64_t key;
    uint64_t tie;
};

/* Of what is given or changed: its range, and who may. */
int priority_check(const struct caller *who, const Pb__JobSpec *spec, struct err *err);
void priority_start(struct control *c);
void priority_done(struct control *c);
void priority_forget(struct control *c); /* partitions or the configuration have changed */
void priority_set(struct control *c, struct job *j);     /* of a pending job, before it is queued */
void priority_set_all(struct control *c, struct job *j); /* in each of its partitions */
/* What its factors make of it, before it is bounded by 1 and UINT32_MAX. */
int64_t priority_unbounded(struct control *c, const struct job *j);
/* It is as somebody says from now on, until it is held and released (priority/multifactor). */
void priority_give(struct job *j, uint32_t priority);
/* Whether this priority is higher than what it has in a partition, also later, when the nice value
 * that is set with it is taken back. */
bool priority_would_rise(struct control *c, const struct job *j, uint32_t priority, int32_t nice);
void priority_released(struct control *c, struct job *j);
void priority_nice(struct control *c, struct job *j, int32_t before); /* its nice has changed */
void priority_set_nice(struct job *j, int32_t nice); /* in its request; no more than that */
/* Whether the time that passes counts as its age. */
void priority_accrue(struct control *c, struct job *j, bool counts);
void priority_turn(struct control *c); /* goes on with the queues */
void priority_tick(struct control *c);
int64_t priority_due_ms(const struct control *c); /* INT64_MAX: never */
