/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The turn of a job set in a pass. Where each component is queued by its own priority, a pass looks
 * at a set when it comes to the leader, in two modes at each component in the queue of its own
 * partition. Where all components have a common place (enum conf_sets_rank) they are looked at one
 * after the other, whatever their partitions are: in the highest PriorityTier of these partitions
 * (CONF_RANK_MOST), in the lowest one (CONF_RANK_LEAST), or in the lowest one that is not below
 * their mean (CONF_RANK_MEAN).
 *
 * A pass walks partitions of the same tier one after the other. Before the turn of such a set it
 * leaves the present partition for the others that components wait in, and walks these up to the
 * set: jobs with a higher priority are looked at before the set, jobs with a lower one after it.
 * Without backfill no component starts in a partition in which one of the former waits.
 */
#pragma once

#include "base/vec.h"
#include "sched/plan.h"

/* The pass does not look at this job of the queue that the pass walks. */
bool set_turn_passes_over(const struct plan *p, const struct job *j);

/* The next job of the partition's queue behind that place that the pass looks at; NULL: none. */
const struct order_link *set_turn_peek(const struct plan *p, const struct part *part,
                                       const struct order_place *from);

/* The pass comes to this job of the queue, in which it was at 'before'. Returns the job that is
 * looked at: 'j', or of a set whose turn it is the first that set_turn_next() would return; 'in' is
 * then the partition of that look. NULL: none, and the pass may be in another partition. */
const struct job *set_turn_begin(struct plan *p, const struct job *j,
                                 const struct order_place *before, const struct part **in);
/* The next look of the turn that has begun. NULL: that turn is over, or none has begun. */
const struct job *set_turn_next(struct plan *p, const struct part **in);
bool set_turn_lasts(const struct plan *p);
/* The pass left the partition in the middle, and returns to it. */
bool set_turn_is_left(const struct plan *p, const struct part *part);
/* Without backfill: a job before the set waits in this partition of the component. */
bool set_turn_is_kept_out(const struct plan *p, const struct job *component);

/* Without backfill: a set that waits is before all jobs of the present partition, which begins. */
bool set_turn_begins_blocked(const struct plan *p);
/* The pass is through with the present partition, and goes on in the next one. False: that one is
 * walked from its beginning, or the pass is over. */
bool set_turn_leave_part(struct plan *p);
void set_turn_done(struct plan *p);

/* --- a question about a set that the pass leaves out ---------------------------------------------
 */

struct set_place {           /* where the set would have its turn */
    const struct part *part; /* of the leader */
    int64_t key;             /* in the queues of all of its partitions */
    uint64_t tie;
};

enum set_turn_way {
    SET_TURN_ALONE,   /* it is no such set: its place is one in the queue of 'part' */
    SET_TURN_BEFORE,  /* the pass goes on in the present partition before the turn */
    SET_TURN_MOVED,   /* the pass has gone to another partition, where it goes on before the turn */
    SET_TURN_REACHED, /* in all of its partitions the pass has come to the set, or is over */
};
enum set_turn_way set_turn_approach(struct plan *p, const struct set_place *place);

struct set_parts {
    VEC(const struct part *) list;
};
/* Adds the partitions in which jobs are directly before the turn of the set; if the pass leaves out
 * no such set, 'own' alone. */
void set_turn_list_parts(const struct plan *p, const struct part *own, struct set_parts *out);
