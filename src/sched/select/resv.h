/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What reservations mean for the planner: where a job may run when, in a reservation or outside of
 * all. Whole nodes are taken from the set of nodes that a job may have; of nodes that are reserved
 * in parts a job gets no more units and generic resources than are not reserved, or those that are.
 */
#pragma once

#include "sched/plan.h"

#define RESV_AHEAD 8 /* occurrences that are looked at, of a reservation that repeats */

struct resv_begin { /* of the next occurrence */
    int64_t at;
    struct bitset *nodes; /* of this one and those that begin before */
    struct spare rest;    /* what is free now on others; counts only, */
    uint64_t freed;       /* one more than pool.freed then; 0: not made */
};

#define RESV_GLANCES 64 /* a power of two */

struct resv_glance { /* at what is free now: whether it might do, when these counts were the pool's
                      */
    struct spare_need need;
    uint64_t freed, taken; /* freed 0: no answer */
    bool might_do;
};

struct resv_plan { /* of one pass */
    const struct cluster *cluster;
    int64_t now_sec;
    VEC(struct resv_begin) begins; /* of those that take whole nodes, rising */
    bool made;
    VEC(const struct resv *)
    blocked;                        /* a job that runs in it waits: those behind it must not pass */
    VEC(const struct resv *) parts; /* of nodes, that are kept from the present job */
    struct free_view view; /* with these, of which the last two are NULL until they are needed: */
    uint32_t *most;
    uint64_t *gres;
    bool *whole;
    struct resv_glance glances[RESV_GLANCES]; /* by need; each job is asked about more than once */
};

void resv_plan_init(struct resv_plan *p, const struct cluster *c, int64_t now_sec);
void resv_plan_done(struct resv_plan *p);
/* Later, reservations may have come and gone. */
void resv_plan_resume(struct resv_plan *p, int64_t now_sec);

/* The n-th place where the job may run: a reservation, or (NULL) outside. False: no more. */
bool resv_place(const struct job *j, size_t n, const struct resv **in);

/* Where it is planned for when it waits: the first one that it asks for. */
const struct resv *resv_home(const struct job *j);

/* Of 'set' what the job may use there at all, whenever. */
void resv_restrict(const struct resv *in, struct bitset *set);

/* Whether it keeps nodes from a job of 'in', NULL: from one that runs outside of all. */
bool resv_is_over(const struct resv *r, const struct resv *in);

/* Whether what it keeps of its nodes could serve the job, were no other job there. */
bool resv_could_serve(const struct cluster *c, const struct job *j, const struct resv *r);

/* Without a look at the nodes: false, what it could have now and to its limit does not do. */
bool resv_might_fit(struct resv_plan *p, const struct job *j, const struct spare_need *need);

/* Of 'set' what it may use from then to its limit. False: nothing, it is not the time. */
bool resv_narrow(struct resv_plan *p, const struct job *j, const struct resv *in, int64_t from,
                 struct bitset *set);

/* 'view' with no more units and generic resources than the job may have there then; 'view' itself
 * when nothing is reserved in parts. Good until the next call. */
const struct free_view *resv_view(struct resv_plan *p, const struct job *j, const struct resv *in,
                                  int64_t from, const struct free_view *view);

/* Two jobs that may run in the same reservations. */
bool resv_same_places(const struct job *a, const struct job *b);

/* A job that runs in a reservation or nowhere cannot start. True: it is the first one there in this
 * pass. */
bool resv_block(struct resv_plan *p, const struct job *j);
bool resv_is_blocked(const struct resv_plan *p, const struct job *j);

/* True: it is a reservation for which it waits, and the decision says so. 'set': nodes that it
 * could have, whenever. */
bool resv_explain(struct resv_plan *p, const struct job *j, const struct bitset *set,
                  struct decision *d);
