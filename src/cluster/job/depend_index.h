/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who waits for whom, so that a change of a job is told to its dependents and to nobody else; and
 * which jobs of a user have one name, for singletons. Part of the cluster.
 */
#pragma once

#include "cluster/index/idmap.h"
#include "cluster/index/order.h"
#include "cluster/job/depend.h"
#include "cluster/job/depend_corr.h"

struct array;
struct cluster;
struct job;

struct depend_index {
    struct order dependents; /* items of pending jobs, by the job that they wait for */
    struct order owed;       /* those that are decided, and whose job's record does not say so yet:
                              * of the job that is named, what is known must not go before */
    uint64_t items;          /* of all jobs, */
    struct idmap of_user;    /* and by user */
    struct order named;      /* jobs that are not over, by name and user, those that run first */
    bool names;              /* 'named' is kept: since there was a singleton */
    uint64_t looks;          /* at items, since the start: what all of this costs */
};

struct depend_name {        /* of a job */
    struct order_link link; /* in 'named' */
    uint32_t job_id;
    char text[];
};

struct job_waits {
    struct depend *on;     /* NULL: nothing, or it is met */
    char *shown;           /* what is left of it, as text; NULL: nothing */
    char *kept;            /* of one that was ended before it began: its items' states, as packed */
    bool stale;            /* 'shown' is of other items, or of other states than now */
    bool late;             /* its record is: see depend_owe() */
    bool alone;            /* none of its name was in its way */
    bool never;            /* it cannot be met any more */
    bool partly;           /* it is met by some of its elements, which may start */
    bool kill, kill_given; /* then the job is ended; not given: as configured */
    struct depend_name *name; /* NULL: while it was not asked for */
};

/* What the job waits for from now on; 'd' is taken, NULL: nothing. */
void depend_set(struct cluster *c, struct job *j, struct depend *d);
/* It is taken out of all that is here. */
void depend_leave(struct cluster *c, struct job *j);
/* The same, of items that name others than before. */
void depend_relink(struct cluster *c, struct job *j);
/* Items that are decided, and those of a job that is not pending, are waited for no more. */
void depend_reindex(struct cluster *c, struct job *j);
/* The same of one item, which has changed. 'owed': what it has come to is to be written later, and
 * until depend_written() the job that it names is known as one that is still needed. */
void depend_reindex_item(struct cluster *c, struct job *j, struct depend_item *item, bool owed);
void depend_written(struct cluster *c, struct job *j);
bool depend_is_owed(const struct cluster *c,
                    uint32_t on); /* of the job, or elements of the array */
/* The job was ended before it began: it needs its items no more, unless it is queued again. */
void depend_shelve(struct cluster *c, struct job *j);
/* Of all jobs of a user, the ended ones too whose items are kept. */
uint32_t depend_count_of_user(const struct cluster *c, uint32_t uid);
/* The next item that names the job 'on', or this element of it (DEPEND_WHOLE: all of it), and is
 * not decided; *cursor begins at 0. NULL: there is none. */
struct depend_item *depend_next_item(const struct cluster *c, uint32_t on, uint32_t element,
                                     uint64_t *cursor, struct job **dependent);
/* Whether there is one. */
bool depend_is_awaited(const struct cluster *c, uint32_t on, uint32_t element);
/* The next element of the array that is waited for by its number; *element begins at DEPEND_WHOLE.
 * False: there is none. */
bool depend_next_element(const struct cluster *c, uint32_t on, uint32_t *element);
/* What there is to know of a job for those that wait for it: of the leader of a job set
 * what is true of all components together. */
struct depend_outcome depend_outcome_of(const struct job *j);
/* The same of a job array as a whole: it has begun when all of it has, and is COMPLETED when all of
 * it is. */
struct depend_outcome depend_outcome_of_array(const struct array *a);
/* Of what an item names. Of an element whose record is purged as far as the array knows. False: it
 * is not known. */
bool depend_find_item(const struct cluster *c, const struct depend_item *item,
                      struct depend_outcome *out);
/* Of one element, which this record has. */
struct depend_outcome depend_outcome_of_element(const struct job *j, uint32_t element);
/* Of what an item names: the array where the number is one's. False: it is not known. */
bool depend_find_outcome(const struct cluster *c, uint32_t job_id, struct depend_outcome *out);
/* Its place among the jobs of its name and user, after its state has changed. They have none before
 * the first singleton comes, who gives all of them theirs: a pass over all jobs, once. */
void depend_place_name(struct cluster *c, struct job *j);
/* The name in its record is another one now. */
void depend_replace_name(struct cluster *c, struct job *j);
/* The first of those jobs: one that runs, or else the oldest. NULL: there is none. */
struct job *depend_first_named(const struct cluster *c, uint32_t uid, const char *name);
struct job *depend_first_like(const struct cluster *c, struct job *j);
/* Whether it is the job itself, or a component of its job set. */
bool depend_is_first_like(const struct cluster *c, struct job *j);
/* The oldest of them that is pending. */
struct job *depend_next_like(const struct cluster *c, struct job *j);
