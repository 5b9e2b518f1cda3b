/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The joint placement of a job set: nodes for all of its components at once, so that all of them
 * start together. Components share nodes where their requests allow it.
 *
 * The components are placed one after the other, those with the fewest nodes to choose from first,
 * each at first on nodes that no later one could use. One that finds no nodes beside the others is
 * placed before them in the next attempt.
 */
#pragma once

#include "sched/plan.h"

struct timeline;

struct joint_part {         /* a component */
    const struct job *job;  /* as it is in the partition: perhaps in 'room' */
    bool in_one;            /* it is looked at in that partition alone */
    struct job_copy *room;  /* NULL: not needed */
    const struct resv *in;  /* NULL: outside of all reservations */
    struct selection where; /* where it is placed */
    struct bitset *nodes;   /* that it may have, at whatever time */
    uint32_t license;       /* of its alternative licences */
};

struct joint {
    struct plan *plan;
    VEC(struct joint_part) parts; /* in order of their offsets */
    VEC(uint32_t) order;          /* in which they are placed */
    struct bitset *placed;        /* nodes that have parts in the present attempt */
    const uint32_t *most;         /* units of each node that a part may have; NULL: all */
    bool without_licenses;        /* places are searched for the parts without their licences */
    bool gave_up;                 /* the pass has searched enough: nothing is known of these */
};

/* Which of its alternative licences each component is looked at with. */
struct joint_choice {
    uint32_t of[JOB_SET_MAX];            /* 0 of a component without alternatives */
    struct job_copy *views[JOB_SET_MAX]; /* NULL: none is made */
    uint32_t viewed;                     /* none is made from this offset on */
    struct joint_choice *outer;          /* of the look in which this one is taken; NULL: none */
};

/* The component with this offset, or what stands for it in a question, with the alternative that is
 * chosen for it. NULL: its record is gone. */
const struct job *joint_component(const struct plan *p, const struct job *leader, uint32_t offset);
/* Every component has its record, and a partition that is configured. */
bool joint_has_partitions(const struct plan *p, const struct job *leader);
bool joint_is_variant(const struct plan *p, const struct job *component); /* it stands for one */

/* Why a component that is there is not queued: one that is still ending keeps the others. */
enum reason joint_reason_of_absent(const struct job *component);

/* 'leader': as it is in the partition whose queue is looked at. Every component is there and
 * queued. */
void joint_begin(struct joint *s, struct plan *p, const struct job *leader);
void joint_end(struct joint *s);

/* Whether all of them can start now, whatever is planned for others. */
bool joint_fits_now(struct joint *s);
/* The same, on what would be free. */
bool joint_fits_on(struct joint *s, const struct free_view *view);
/* Nodes of one partition, or of all of the component's, usable or not. The caller frees. */
struct bitset *joint_candidates(const struct cluster *c, const struct job *j, bool in_one);
/* joint_possible.c. False: the components never fit beside each other, by the nodes, CPUs, memory,
 * generic resources and networks that are configured;
 * *at (NULL: not asked for) is the first that has no room beside those before it. True says
 * nothing. 'leader': as in joint_begin(). */
bool joint_could_fit(const struct plan *p, const struct job *leader, uint32_t *at);
/* The same on these nodes alone, if nothing ran there. */
bool joint_could_fit_on(const struct plan *p, const struct job *leader, const struct bitset *nodes,
                        uint32_t *at);
/* Nodes that one of them may have and that are not kept for others. The caller frees. */
struct bitset *joint_nodes(struct joint *s);
/* Whether they can start now, and to their limits beside what others have reserved on this
 * timeline. Nothing is left on the timeline. */
bool joint_leaves_room(struct joint *s, struct timeline *t);
/* The earliest start of all of them that is found, not before 'due', and where; wall seconds. 0: it
 * cannot be foreseen. Nothing is left on the timeline. */
int64_t joint_find_start(struct joint *s, struct timeline *t, int64_t due);

/* Whether all components of the set can start now, beside what others have reserved; 'd' says
 * where. 'leader': as in joint_begin(). */
bool joint_can_start(struct plan *p, const struct job *leader, struct decision *d);

/* joint_look.c: what the pass decides about a set, when it comes to its leader. 'counts': see
 * depth_takes(). */
void joint_look(struct plan *p, const struct job *leader, bool counts, struct decision *d);

/* The placements of all parts but the leader's are moved to 'more', with the order of all. */
void joint_take(struct joint *s, struct selection *where, struct placements *more);

/* --- joint_choice.c ----------------------------------------------------------------------------
 */

/* From here on joint_component() returns components with this choice: at first the first
 * alternative of each. */
void joint_choice_begin(struct joint_choice *c, struct plan *p);
void joint_choice_end(struct joint_choice *c, struct plan *p);
/* The component with its alternative; valid until the choice ends. */
const struct job *joint_view(struct joint_choice *c, const struct job *j, uint32_t offset);
/* Of a placement of all components: the alternative of the leader, and those of the others. */
void joint_choice_read(struct joint_choice *c, uint32_t first, const struct placements *more);
/* Whether any component of the job's set has some. False of an ordinary job. */
bool joint_has_alternatives(const struct job *j);

/* The first choice with which the set can start, as far as licences go and, with tied pools among
 * the alternatives, nodes; else the one whose licences are free earliest. 'leader': without a
 * choice.
 */
void joint_choose(struct plan *p, const struct job *leader, struct joint_choice *c);
/* Each way to choose tied pools, of whichever component, has its own nodes. */
uint32_t joint_count_ways(struct plan *p, const struct job *leader);
/* When all licences are free, with the choice (of this way; UINT32_MAX: of any) with which that is
 * earliest; wall seconds. 0: it cannot be foreseen. */
int64_t joint_choose_earliest(struct plan *p, const struct job *leader, uint32_t way,
                              struct joint_choice *c);

/* The nodes that decide which tied pools the set uses: those of the one component that needs tied
 * pools, or those of the leader when no component does. 'first' and 'where' are the
 * leader's alternative licence and nodes; 'more' has those of the other components. */
const struct selection *joint_tied_nodes(const struct cluster *c, const struct job *leader,
                                         uint32_t first, const struct selection *where,
                                         const struct placements *more);
/* The leader as if it had the licences of all components: what the set needs; 'choice' NULL: the
 * first alternatives. A set of which several components need tied pools, after a reconfiguration,
 * waits. The copy is freed by joint_licenses_done(). */
void joint_licenses_init(struct job_copy *copy, const struct cluster *c, const struct job *leader,
                         const struct joint_choice *choice);
/* gate_of_start() of such a leader: tied pools of other components are on nodes of theirs, and no
 * gate of it. 'has_own_tied': the leader itself needs tied pools. */
enum reason joint_gate_of_start(const struct plan *p, const struct job *sum, bool has_own_tied,
                                bool *keeps_place);
void joint_licenses_done(struct job_copy *copy);
/* -ERR_LICENSE: with no choice the cluster has as many in total. */
int joint_licenses_possible(const struct cluster *c, const struct job *leader, struct err *err);
