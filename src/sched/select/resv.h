/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The effect of reservations on the planner: where and when a job may run, inside or outside of a
 * reservation. Nodes that are reserved whole are removed from the job's set of nodes. On nodes that
 * are reserved in part, a job gets only unreserved units and generic resources, or only the
 * reserved ones.
 */
#pragma once

#include "sched/plan.h"

#define RESV_AHEAD 8 /* number of occurrences considered for a repeating reservation */

struct resv_begin { /* the begin of an occurrence */
    int64_t at;
    struct bitset *nodes; /* nodes of this and all earlier begins */
    struct spare rest;    /* free resources of the other nodes at present; counts only */
    uint64_t freed;       /* 1 + pool.freed when 'rest' was computed; 0: not computed */
};

#define RESV_GLANCES 64 /* size of the cache; a power of two */

struct resv_glance { /* cached answer about the free resources, with the pool's counters at that
                        time */
    struct spare_need need;
    uint64_t freed, taken; /* freed 0: no answer */
    bool might_do;
};

struct resv_plan { /* the reservations during one pass */
    const struct cluster *cluster;
    int64_t now_sec;
    VEC(struct resv_begin) begins; /* of reservations of whole nodes, rising */
    bool made;
    VEC(const struct resv *)
    blocked; /* a job bound to it waits: jobs behind it must not overtake */
    /* Reservations of parts of nodes that the present job may not use. */
    VEC(const struct resv *) parts;
    /* View with 'parts' applied; its last two arrays are NULL until needed. */
    struct free_view view;
    uint32_t *most;
    uint64_t *gres;
    bool *whole;
    struct resv_glance glances[RESV_GLANCES]; /* by need; a job is checked more than once */
};

void resv_plan_init(struct resv_plan *p, const struct cluster *c, int64_t now_sec);
void resv_plan_done(struct resv_plan *p);
/* Continues the pass at a later time. Reservations may have begun or ended. */
void resv_plan_resume(struct resv_plan *p, int64_t now_sec);

/* Returns the n-th place where the job may run: a reservation, or (NULL) outside of all. False:
 * there are no more. */
bool resv_place(const struct job *j, size_t n, const struct resv **in);

/* Returns the place for which a waiting job is planned: the first one that it requests. */
const struct resv *resv_home(const struct job *j);

/* Removes the nodes from 'set' that the job may never use in this place. */
void resv_restrict(const struct resv *in, struct bitset *set);

/* Whether 'r' withholds nodes from a job in 'in' (NULL: outside of all reservations). */
bool resv_is_over(const struct resv *r, const struct resv *in);

/* Whether the reserved parts of nodes could serve the job if no other job used them. */
bool resv_could_serve(const struct cluster *c, const struct job *j, const struct resv *r);

/* A check without a visit to the nodes. False: the resources available to the job from now to its
 * limit do not suffice. */
bool resv_might_fit(struct resv_plan *p, const struct job *j, const struct spare_need *need);

/* Removes the nodes from 'set' that the job may not use from that time to its limit. False: no node
 * is left, because the reservation is not active. */
bool resv_narrow(struct resv_plan *p, const struct job *j, const struct resv *in, int64_t from,
                 struct bitset *set);

/* Returns 'view' limited to the units and generic resources that the job may use there at that
 * time; 'view' itself if no node is reserved in part. Valid until the next call. */
const struct free_view *resv_view(struct resv_plan *p, const struct job *j, const struct resv *in,
                                  int64_t from, const struct free_view *view);

/* Whether the two jobs may run in the same reservations. */
bool resv_same_places(const struct job *a, const struct job *b);

/* Records that a job that can only run in a reservation cannot start. Returns true if it is the
 * first such job in this pass. */
bool resv_block(struct resv_plan *p, const struct job *j);
bool resv_is_blocked(const struct resv_plan *p, const struct job *j);

/* Whether the job waits for a reservation; if it does, the decision gets the reason. 'set': the
 * nodes that the job could ever use. */
bool resv_explain(struct resv_plan *p, const struct job *j, const struct bitset *set,
                  struct decision *d);
