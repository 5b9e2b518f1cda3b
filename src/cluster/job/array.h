/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Job arrays. Elements without individual differences share one job record ("a group", with the
 * elements in job.tasks); at first this is the record of the whole array. An element that starts,
 * or that is changed individually, gets a record and a job id of its own (job.task). A split moves
 * elements from one record to another, so that each element is in exactly one record until the
 * record is purged. See docs/adr/0011-arrays-as-groups.md.
 *
 * The cluster owns struct array, which lives as long as any of its records. Its counts follow the
 * states of the records; only array.c and job_state.c write them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/idset.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/index/idmap.h"
#include "cluster/index/order.h"

#define ARRAY_NO_TASK 0xfffffffeu /* the value that Slurm uses where there is no element */
#define ARRAY_SIZE_MAX 4000001u   /* upper limit of MaxArraySize; indexes are lower */

struct cluster;
struct job;

struct array {
    uint32_t id;       /* ArrayJobId: the id of its first record */
    struct idset all;  /* its elements, as submitted */
    uint32_t throttle; /* maximum number of running elements; 0: no limit */
    bool stored;       /* it has a record of its own in the store, RECORD_ARRAY */
    bool changed;      /* the stored record is out of date */

    /* Counts of elements, including ended elements whose records are purged. */
    uint32_t pending, running, ended_well, ended_badly;
    uint32_t gone_well, gone_badly; /* ended elements whose records are purged */
    struct idset gone_failed;       /* the elements of gone_badly */
    int gone_exit;                  /* the highest wait status of purged elements */
    uint32_t missing; /* number of elements whose records were missing at the restore */
    bool begun;       /* an element has started, and the owner asked for a mail about it */

    struct order records;    /* by job id: job.of_array */
    struct idmap singles;    /* elements with a record of their own, to job ids */
    VEC(uint32_t) groups;    /* job ids of the records with several elements */
    VEC(uint64_t) end_calls; /* calls that wait for the end of all elements */
};

/* Parses "0-15:4,20%3"; indexes must be below 'size'. throttle 0: none was given. -ERR_ARRAY states
 * what is allowed. */
int array_parse(const char *text, uint32_t size, struct idset *tasks, uint32_t *throttle,
                struct err *err);

/* NULL: there is no such array with records. */
struct array *array_find(const struct cluster *c, uint32_t id);
/* Returns the record with the element; NULL: it is purged or never existed. */
struct job *array_element(const struct cluster *c, const struct array *a, uint32_t task);
bool array_is_over(const struct array *a); /* all elements have ended and none will be requeued */
int array_worst_exit(const struct array *a);
/* Whether the throttle permits another element; NULL: yes. */
static inline bool array_has_room(const struct array *a)
{
    return !a || !a->throttle || a->running < a->throttle;
}

/* Visits the records by rising id; the body may remove 'j' and others, but not the next one. */
#define array_foreach(a, j)                                                                        \
    for (struct job *j = array_first(a), *j##_next = array_after(j); j;                            \
         j = j##_next, j##_next = array_after(j))
struct job *array_first(const struct array *a);
struct job *array_after(const struct job *j); /* NULL for NULL */

/* Number of elements of a record; 1 for a job that is not in an array. */
uint32_t array_weight(const struct job *j);
/* Number of those elements that may still get a record of their own. */
uint32_t array_to_come(const struct job *j);
bool array_record_has(const struct job *j, uint32_t task); /* whether the record has this element */

/* --- changes ------------------------------------------------------------------------------------
 */

/* Makes a new job the first record of an array with the job's id. The array owns the elements of
 * 'all' afterwards. */
void array_make(struct cluster *c, struct job *j, struct idset *all, uint32_t throttle);
/* Makes a restored job a record of the array, which is created if it is missing; 'all' is the text
 * of the submission. The job has its task or tasks, and the state that cluster_add_job() set.
 * -ERR_STORE_DAMAGED: another record has the element, or the array lacks it. */
int array_join(struct cluster *c, struct job *j, uint32_t id, const char *all, struct err *err);
/* Called by cluster_remove_job(): frees the array with its last record. */
void array_leave(struct cluster *c, struct job *j);

/*
 * Moves the elements of 'j' that are in 'wanted' to a new record with the job id 'id', otherwise a
 * copy of 'j'. Both records must get at least one element, and both must be written. NULL, with
 * nothing changed: the record of 'j' cannot be copied.
 */
struct job *array_split(struct cluster *c, struct job *j, const struct idset *wanted, uint32_t id,
                        struct err *err);
/* Turns a group with one element left into a record of this element. */
void array_settle(struct job *j);
/* Undoes a split that has not been observed: removes 'from'. */
void array_merge(struct cluster *c, struct job *j, struct job *from);

void array_set_begun(struct cluster *c, struct array *a);
void array_set_throttle(struct cluster *c, struct array *a, uint32_t throttle);
/* For job_state.c: counts by the job's state. */
void array_count(struct array *a, const struct job *j, int by);

void array_pack(const struct array *a, struct str *out); /* appends ArrayRecord bytes */
/* Restores an array before or after its jobs; array_drop_empty() removes arrays without jobs at the
 * end. */
int array_restore(struct cluster *c, uint64_t id, const void *data, size_t len, struct err *err);
/* Copies the arrays to a cluster of another configuration. */
void array_carry(struct cluster *to, const struct cluster *from);
/* Removes one array without jobs; returns its id, or 0: there is none. */
uint32_t array_drop_empty(struct cluster *c);
void array_free_all(struct cluster *c);

/* --- checks --------------------------------------------------------------------------------------
 */
void array_note_missing(struct cluster *c); /* called when everything is restored */
/* Checks that each element is in exactly one record. */
int array_check(const struct cluster *c, struct err *err);
