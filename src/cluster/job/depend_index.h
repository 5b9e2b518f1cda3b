/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The index of dependencies, so that a change of a job reaches exactly its dependents; and the jobs
 * of each user by name, for singletons. Part of the cluster.
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
    struct order dependents; /* items of pending jobs, by the job that they name */
    /* Decided items whose state is not yet in the record of the dependent: the named job must not
     * be purged before. */
    struct order owed;
    uint64_t items;       /* number of items of all jobs, */
    struct idmap of_user; /* and by user */
    struct order named;   /* jobs that are not over, by name and user, running jobs first */
    bool names;           /* 'named' is maintained: there has been a singleton */
    uint64_t looks;       /* number of items visited since the start, as a measure of cost */
};

struct depend_name {        /* the name of a job */
    struct order_link link; /* in 'named' */
    uint32_t job_id;
    char text[];
};

struct job_waits {
    struct depend *on; /* NULL: no dependency, or it is fulfilled */
    char *shown;       /* the remaining items as text; NULL: none */
    char *kept;        /* packed states of the items of a job that ended before it began */
    bool stale;        /* 'shown' is out of date */
    bool late;         /* the stored record is out of date: see depend_owe() */
    bool alone;        /* no other job of its name blocks it */
    bool never;        /* can never be fulfilled */
    bool partly;       /* fulfilled for some of its elements, which may start */
    /* kill_given: --kill-on-invalid-dep was given, and 'kill' is its value; otherwise the
     * configuration decides. */
    bool kill, kill_given;
    struct depend_name *name; /* NULL: not needed yet */
};

/* Sets the dependencies of the job, which owns 'd' afterwards; NULL: none. */
void depend_set(struct cluster *c, struct job *j, struct depend *d);
/* Removes the job from the whole index. */
void depend_leave(struct cluster *c, struct job *j);
/* Updates the index after items name other jobs than before. */
void depend_relink(struct cluster *c, struct job *j);
/* Removes decided items, and the items of a job that is not pending, from the index. */
void depend_reindex(struct cluster *c, struct job *j);
/* Like depend_reindex(), for one item that has changed. 'owed': its state is written later; until
 * depend_written() the job that it names counts as needed. */
void depend_reindex_item(struct cluster *c, struct job *j, struct depend_item *item, bool owed);
void depend_written(struct cluster *c, struct job *j);
bool depend_is_owed(const struct cluster *c,
                    uint32_t on); /* by the id of a job, or of an array for its elements */
/* Stores the items of a job that ended before it began, in case that it is requeued. */
void depend_shelve(struct cluster *c, struct job *j);
/* Counts the items of all jobs of a user, including ended jobs whose items are kept. */
uint32_t depend_count_of_user(const struct cluster *c, uint32_t uid);
/* Returns the next undecided item that names the job 'on', or this element of it (DEPEND_WHOLE: all
 * of it). *cursor starts at 0. NULL: there is none. */
struct depend_item *depend_next_item(const struct cluster *c, uint32_t on, uint32_t element,
                                     uint64_t *cursor, struct job **dependent);
/* Whether depend_next_item() would find an item. */
bool depend_is_awaited(const struct cluster *c, uint32_t on, uint32_t element);
/* Finds the next element of the array that an item names by its number; *element starts at
 * DEPEND_WHOLE. False: there is none. */
bool depend_next_element(const struct cluster *c, uint32_t on, uint32_t *element);
/* Returns the outcome of a job for its dependents. The outcome of the leader of a job set is the
 * outcome of all components together. */
struct depend_outcome depend_outcome_of(const struct job *j);
/* Returns the outcome of a job array as a whole: it has begun when all elements have begun, and is
 * COMPLETED when all elements are. */
struct depend_outcome depend_outcome_of_array(const struct array *a);
/* Finds the outcome of what an item names. For an element whose record is purged it uses the counts
 * of the array. False: unknown. */
bool depend_find_item(const struct cluster *c, const struct depend_item *item,
                      struct depend_outcome *out);
/* Returns the outcome of one element of this record. */
struct depend_outcome depend_outcome_of_element(const struct job *j, uint32_t element);
/* Finds the outcome of a job id: of the array if the id is the id of an array. False: unknown. */
bool depend_find_outcome(const struct cluster *c, uint32_t job_id, struct depend_outcome *out);
/* Updates the place of the job among the jobs of its name and user after a change of its state. The
 * first singleton causes one pass over all jobs; before it no job has a place. */
void depend_place_name(struct cluster *c, struct job *j);
/* Updates the index after the job was renamed. */
void depend_replace_name(struct cluster *c, struct job *j);
/* Returns the first job of that name and user: a running job, otherwise the oldest one. NULL:
 * none. */
struct job *depend_first_named(const struct cluster *c, uint32_t uid, const char *name);
struct job *depend_first_like(const struct cluster *c, struct job *j);
/* Whether the first job of its name is the job itself or a component of its job set. */
bool depend_is_first_like(const struct cluster *c, struct job *j);
/* Returns the oldest pending job of the same name and user. */
struct job *depend_next_like(const struct cluster *c, struct job *j);
