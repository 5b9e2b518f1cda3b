/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A job set: jobs that were submitted together, start together, and are one job to their user (a
 * heterogeneous job). Each of them is a job of its own, a component, with an id, a partition, a
 * request and an allocation; its offset in the set begins with 0. The component with offset 0 is
 * the leader: its id is the id of the set, it alone has a script, and its place in the queue is the
 * place of the set.
 *
 * An ordinary job is a set of which it is the only component. It has no struct job_set, and all
 * functions below serve it as well.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "conf/conf_sets.h"

#define JOB_SET_MAX 128     /* components of a set */
#define JOB_SET_NAME_MAX 32 /* characters of a component's name */

struct cluster;
struct job;

struct job_set {
    uint32_t leader_id;       /* also after the leader's record is gone */
    uint32_t count;           /* components that were submitted */
    uint32_t present;         /* those of them that have a record */
    enum conf_sets_rank rule; /* CONF_RANK_OWN: each component is queued by its own priority;
                                 otherwise all are queued: */
    bool rank_in_resv;        /* as jobs that ask for a reservation, */
    uint32_t rank;            /* and by this priority */
    uint32_t *ids;            /* by offset, also of those without a record; 0: not known */
    struct job *jobs[];       /* by offset; NULL: its record is gone */
};

struct job_sets {
    VEC(struct job_set *) list; /* by rising id of the leader */
};

/* Components of the set of this job, those whose records are gone included; at least 1. */
uint32_t job_set_count(const struct job *j);
/* The component with this offset, which is less than job_set_count(); NULL: its record is gone. */
struct job *job_set_component(const struct job *j, uint32_t offset);
/* The id of the set: that of its leader, also after the leader's record is gone. */
uint32_t job_set_id(const struct job *j);
/* Of an ordinary job, too. */
bool job_set_is_leader(const struct job *j);
/* The record of every component is there. */
bool job_set_is_whole(const struct job *j);
/* "123-127,130": the ids of all components. Appends. */
void job_set_format_ids(const struct job *j, struct str *out);
/* Reads them again: those of components whose records are gone are known then. A text that has not
 * one id for each component changes nothing. */
void job_set_learn_ids(struct job *j, const char *ids);

/* A component may have a name beside its number, which environment variables have in upper case: a
 * letter, then letters, digits and "_". No two of a set have the same; case does not count.
 * -ERR_PARSE. */
int job_set_check_name(const char *name, struct err *err);

/* Sets by what all components of the job's set are queued, and moves those that are in queues. The
 * priorities of the components remain. Of an ordinary job: nothing. */
void job_set_rank(struct job *j, enum conf_sets_rank rule);

/* The request of the component, or the partitions in whose queues it is, may be others: what is
 * known of the whole set no longer holds. Of an ordinary job: nothing. */
void job_set_changed(struct job *j);

/* The set with this id; NULL: there is none. */
struct job_set *job_set_find(const struct cluster *c, uint32_t leader_id);
/* The job becomes a component of the set, which is made by its first one: when it is submitted, or
 * its record is restored, in any order. -ERR_STORE_DAMAGED: the set has another count, or another
 * component there, or the offset is beyond the count; the job stays ordinary. */
int job_set_join(struct cluster *c, struct job *j, uint32_t leader_id, uint32_t offset,
                 uint32_t count, struct err *err);
/* The record of the component goes away. The set goes with the last one. */
void job_set_leave(struct cluster *c, struct job *j);

void job_set_free_all(struct cluster *c); /* the jobs are gone, or go without it */

/* Whether the sets and the jobs agree; -ERR_INTERNAL. For tests. */
int job_set_check(const struct cluster *c, struct err *err);
