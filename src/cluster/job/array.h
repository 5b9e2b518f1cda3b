/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Job arrays. Elements that nothing tells apart share one job record ("a group": job.tasks has
 * them), which is the array's own at first; one that starts, or that something addressed to it
 * makes differ, gets a record and a job id of its own (job.task). Splitting moves elements from one
 * record to another, so that each element is in exactly one of them until its record is purged.
 * See docs/adr/0011-arrays-as-groups.md.
 *
 * struct array belongs to the cluster and lives as long as any record of it does. Its counts follow
 * the states of the records; only array.c and job_state.c write them.
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

#define ARRAY_NO_TASK 0xfffffffeu /* what Slurm says where there is no element */
#define ARRAY_SIZE_MAX 4000001u   /* MaxArraySize at most: indexes are below */

struct cluster;
struct job;

struct array {
    uint32_t id;       /* ArrayJobId: the id of its first record */
    struct idset all;  /* its elements, as submitted */
    uint32_t throttle; /* so many run at a time; 0: no limit */
    bool stored;       /* it has a record of its own, RECORD_ARRAY */
    bool changed;      /* what that record says is not what is stored */

    /* of elements; the ended ones too whose records are purged */
    uint32_t pending, running, ended_well, ended_badly;
    uint32_t gone_well, gone_badly; /* of the ended ones, those that are purged */
    struct idset gone_failed;       /* which these are */
    int gone_exit;                  /* the highest wait status among these */
    uint32_t missing;               /* elements whose records were lost when all was restored */
    bool begun;                     /* an element has started, and its owner wants to know */

    struct order records;    /* by job id: job.of_array */
    struct idmap singles;    /* elements with a record of their own to job ids */
    VEC(uint32_t) groups;    /* job ids of the records of several */
    VEC(uint64_t) end_calls; /* of those who wait for the end of all */
};

/* "0-15:4,20%3" of indexes below 'size'; throttle 0: none was given. -ERR_ARRAY says what is
 * allowed. */
int array_parse(const char *text, uint32_t size, struct idset *tasks, uint32_t *throttle,
                struct err *err);

/* NULL: no record of such an array is there. */
struct array *array_find(const struct cluster *c, uint32_t id);
/* The record that has the element; NULL: it is purged, or never was. */
struct job *array_element(const struct cluster *c, const struct array *a, uint32_t task);
bool array_is_over(const struct array *a); /* every element has ended, and comes back no more */
int array_worst_exit(const struct array *a);
static inline bool array_has_room(const struct array *a) /* another one may run; NULL: yes */
{
    return !a || !a->throttle || a->running < a->throttle;
}

/* By rising id; the loop may remove 'j' and others, but for the one behind it. */
#define array_foreach(a, j)                                                                        \
    for (struct job *j = array_first(a), *j##_next = array_after(j); j;                            \
         j = j##_next, j##_next = array_after(j))
struct job *array_first(const struct array *a);
struct job *array_after(const struct job *j); /* NULL for NULL */

uint32_t array_weight(const struct job *j);  /* elements of a record; 1 of a job in no array */
uint32_t array_to_come(const struct job *j); /* of them, those that may still get a record */
bool array_record_has(const struct job *j, uint32_t task); /* of its array */

/* --- changes ------------------------------------------------------------------------------------
 */

/* Makes a new job the first record of an array of its own id; takes the elements. */
void array_make(struct cluster *c, struct job *j, struct idset *all, uint32_t throttle);
/* A job that is being restored becomes a record of the array, made when it is not there; 'all' as
 * given at its submission. It has its task or tasks, and its state is as cluster_add_job() left it.
 * -ERR_STORE_DAMAGED: another record has the element, or the array does not. */
int array_join(struct cluster *c, struct job *j, uint32_t id, const char *all, struct err *err);
/* By cluster_remove_job(): frees the array with its last record. */
void array_leave(struct cluster *c, struct job *j);

/*
 * A new record 'id' gets those of j's elements that are 'wanted' too, and is as j in all else; j
 * keeps the rest. There must be some of both. NULL, nothing changed: j's record cannot be copied.
 * Both are to be written.
 */
struct job *array_split(struct cluster *c, struct job *j, const struct idset *wanted, uint32_t id,
                        struct err *err);
/* A group that has one element left is that element. */
void array_settle(struct job *j);
/* Undoes a split that nobody was told of: 'from' is removed. */
void array_merge(struct cluster *c, struct job *j, struct job *from);

void array_set_begun(struct cluster *c, struct array *a);
void array_set_throttle(struct cluster *c, struct array *a, uint32_t throttle);
void array_count(struct array *a, const struct job *j, int by); /* job_state.c: in j's state */

void array_pack(const struct array *a, struct str *out); /* ArrayRecord bytes */
/* Before or after its jobs; one that has none when all is restored is to be dropped. */
int array_restore(struct cluster *c, uint64_t id, const void *data, size_t len, struct err *err);
void array_carry(struct cluster *to, const struct cluster *from); /* to another configuration */
uint32_t array_drop_empty(struct cluster *c); /* one without jobs; its id, or 0: there is none */
void array_free_all(struct cluster *c);

/* --- checks --------------------------------------------------------------------------------------
 */
void array_note_missing(struct cluster *c);                /* all is restored */
int array_check(const struct cluster *c, struct err *err); /* none is lost, none is there twice */
