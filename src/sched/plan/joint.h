/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The joint placement of a job set: nodes for all components at once, so that they start together.
 * Components share nodes where their requests permit it.
 *
 * The components are placed one by one, components with the fewest candidate nodes first, and
 * preferably on nodes that no later component could use. A component that finds no nodes beside the
 * others is placed before them in the next attempt.
 */
#pragma once

#include "sched/plan.h"

struct timeline;

struct joint_part {         /* one component */
    const struct job *job;  /* the job as it is in the partition; possibly 'room' */
    bool in_one;            /* only this partition is considered for it */
    struct job_copy *room;  /* NULL: not needed */
    const struct resv *in;  /* NULL: outside of all reservations */
    struct selection where; /* where it is placed */
    struct bitset *nodes;   /* nodes that it may use at any time */
    uint32_t license;       /* index of the chosen alternative licence */
};

struct joint {
    struct plan *plan;
    VEC(struct joint_part) parts; /* in order of their offsets */
    VEC(uint32_t) order;          /* order of placement */
    struct bitset *placed;        /* nodes with parts in the present attempt */
    const uint32_t *most;         /* units of each node available to a part; NULL: all */
    bool without_licenses;        /* parts are placed without regard to their licences */
    bool chooses_units;           /* some part takes whole cores or sockets */
    bool gave_up;  /* the search limit of the pass is reached: the result is unknown */
    bool kept_out; /* a partition of a part was left out: set_turn_is_kept_out() */
};

/* The alternative licence of each component for one evaluation. */
struct joint_choice {
    uint32_t of[JOB_SET_MAX];            /* 0 for a component without alternatives */
    struct job_copy *views[JOB_SET_MAX]; /* NULL: not created */
    uint32_t viewed;                     /* no view exists from this offset on */
    struct joint_choice *outer;          /* the enclosing choice; NULL: none */
};

struct joint_clash { /* components that never fit together */
    uint32_t at;     /* the first component that does not fit beside the preceding ones */
    uint32_t beside; /* the first one beside which alone it does not fit; JOINT_SEVERAL: none */
};
#define JOINT_SEVERAL UINT32_MAX

/* Returns the component with this offset, or its substitute in a query, with the chosen alternative
 * licence. NULL: its record is purged. */
const struct job *joint_component(const struct plan *p, const struct job *leader, uint32_t offset);
/* Whether every component has its record and a configured partition. */
bool joint_has_partitions(const struct plan *p, const struct job *leader);
/* Whether it is a substitute for a component. */
bool joint_is_variant(const struct plan *p, const struct job *component);

/* Returns the reason why an existing component is not queued: a component that is still ending
 * blocks the others. */
enum reason joint_reason_of_absent(const struct job *component);

/* 'leader': the leader as it is in the partition of the present queue. All components must exist
 * and be queued. */
void joint_begin(struct joint *s, struct plan *p, const struct job *leader);
void joint_end(struct joint *s);

/* Whether all components can start now, regardless of planned starts. */
bool joint_fits_now(struct joint *s);
/* Like joint_fits_now(), in another view of the free resources. */
bool joint_fits_on(struct joint *s, const struct free_view *view);
/* Returns the nodes of the present partition, or of all partitions of the component, usable or not.
 * The caller frees the set. */
struct bitset *joint_candidates(const struct cluster *c, const struct job *j, bool in_one);
/* joint_possible.c. Returns false if the components can never fit together on the configured
 * nodes, CPUs, memory, generic resources and networks; *clash (NULL: not wanted) then says which.
 * True is no guarantee. 'leader': as in joint_begin(). */
bool joint_could_fit(const struct plan *p, const struct job *leader, struct joint_clash *clash);
/* Like joint_could_fit(), on these nodes only and as if they were idle. */
bool joint_could_fit_on(const struct plan *p, const struct job *leader, const struct bitset *nodes,
                        struct joint_clash *clash);
/* Like joint_could_fit(), for a set that is being submitted: each component in any of its
 * partitions. */
bool joint_could_ever_fit(const struct cluster *c, const struct job *leader,
                          struct joint_clash *clash);
/* Writes "component 2 never fits beside component 0". */
void joint_clash_put(const struct joint_clash *clash, struct str *out);
/* Returns the nodes that a component may use and that are not reserved for others. The caller frees
 * the set. */
struct bitset *joint_nodes(struct joint *s);
/* Whether the components can start now and run to their limits without delaying the reservations on
 * this timeline. The timeline is unchanged afterwards. */
bool joint_leaves_room(struct joint *s, struct timeline *t);
/* Finds the earliest joint start at or after 'due', and the nodes; wall seconds. 0: no start can be
 * foreseen. The timeline is unchanged afterwards. */
int64_t joint_find_start(struct joint *s, struct timeline *t, int64_t due);

/* Whether all components can start now without delaying planned starts; 'd' receives the placement.
 * 'leader': as in joint_begin(). */
bool joint_can_start(struct plan *p, const struct job *leader, struct decision *d);

/* joint_look.c: the decision about a set, made when the pass reaches its leader. 'counts': see
 * depth_takes(). */
void joint_look(struct plan *p, const struct job *leader, bool counts, struct decision *d);

/* Moves the leader's placement to 'where' and the other placements to 'more', with the order of all
 * components. */
void joint_take(struct joint *s, struct selection *where, struct placements *more);

/* --- joint_choice.c ----------------------------------------------------------------------------
 */

/* Makes joint_component() return components with this choice; the choice starts with the first
 * alternative of each. */
void joint_choice_begin(struct joint_choice *c, struct plan *p);
void joint_choice_end(struct joint_choice *c, struct plan *p);
/* Returns the component with its alternative; valid until the choice ends. */
const struct job *joint_view(struct joint_choice *c, const struct job *j, uint32_t offset);
/* Reads the alternatives of a placement: the leader's ('first') and those of the other
 * components. */
void joint_choice_read(struct joint_choice *c, uint32_t first, const struct placements *more);
/* Whether a component of the job's set has alternative licences. False for an ordinary job. */
bool joint_has_alternatives(const struct job *j);

/* Finds the first choice with which the set can start as far as licences and, if tied pools are
 * among the alternatives, nodes permit. If there is none, finds the choice whose licences are free
 * earliest. 'leader': without a choice. */
void joint_choose(struct plan *p, const struct job *leader, struct joint_choice *c);
/* Returns the number of ways to choose tied pools over all components; each way has its own
 * nodes. */
uint32_t joint_count_ways(struct plan *p, const struct job *leader);
/* Returns the earliest time at which all licences are free, and the choice for it (within this way;
 * UINT32_MAX: any way); wall seconds. 0: no time can be foreseen. */
int64_t joint_choose_earliest(struct plan *p, const struct job *leader, uint32_t way,
                              struct joint_choice *c);

/* Returns the nodes that decide which tied pools the set uses: the nodes of the one component that
 * needs tied pools, or of the leader if no component needs any. 'first' and 'where' are the
 * alternative licence and the nodes of the leader; 'more' has those of the other components. */
const struct selection *joint_tied_nodes(const struct cluster *c, const struct job *leader,
                                         uint32_t first, const struct selection *where,
                                         const struct placements *more);
/* Creates a copy of the leader with the licences of all components, which the set needs together;
 * 'choice' NULL: with the first alternatives. A set in which several components need tied pools
 * (possible after a reconfiguration) waits. joint_licenses_done() frees the copy. */
void joint_licenses_init(struct job_copy *copy, const struct cluster *c, const struct job *leader,
                         const struct joint_choice *choice);
/* gate_of_start() for such a leader. Tied pools of other components depend on the nodes of these
 * components and are no gate of the leader. 'has_own_tied': the leader itself needs tied pools. */
enum reason joint_gate_of_start(const struct plan *p, const struct job *sum, bool has_own_tied,
                                bool *keeps_place);
void joint_licenses_done(struct job_copy *copy);
/* -ERR_LICENSE: for no choice does the cluster have enough licences in total. */
int joint_licenses_possible(const struct cluster *c, const struct job *leader, struct err *err);
