/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Job arrays: the transitions of their elements. */
#pragma once

#include "cluster/cluster.h"

struct control;

struct split_part { /* a record that a request addresses; from: the record from which it was split,
                       or 0 */
    uint32_t job_id, from;
};
struct split_list { /* used as a VEC */
    struct split_part *data;
    size_t len, room;
};
/* Returns the record of the element that starts next: 'j' itself if it has one element. NULL: its
 * record cannot be copied. */
struct job *split_first(struct control *c, struct job *j);
/* Returns the records of a job, of all elements of an array, or of these elements ("1-5,7"), which
 * get records of their own; all components of a job set by the id of the leader, or one component
 * by offset or its own id. -ERR_NO_JOB: none. Each part must be passed to split_settle(). */
int split_targets(struct control *c, const Pb__StepId *id, struct split_list *out, struct err *err);
/* Like split_targets(), for a request to cancel, hold or release, in which the own id of a
 * component may stand for all components, see set_is_meant_whole(). */
int split_whole_targets(struct control *c, const Pb__StepId *id, struct split_list *out,
                        struct err *err);
/* Returns how many records, from this one on, are components of one set; 1 for a record in no
 * set. */
size_t split_count_set(struct control *c, const struct split_list *list, size_t first);
/* done: the request changed the record; otherwise the split is undone. */
void split_settle(struct control *c, const struct split_part *part, bool done);
/* Waits for the end of all elements. */
void split_await(struct control *c, struct array *a, uint64_t call);
void split_answer_waiters(struct control *c, struct array *a); /* when all elements have ended */
void split_call_gone(struct control *c, uint32_t id, uint64_t call);
void split_show_throttle(struct control *c, struct array *a); /* it was changed */
uint32_t split_payload_id(const struct job *j);               /* id of the job's RECORD_PAYLOAD */
void split_write(struct control *c);                          /* writes records of arrays */
void split_purge(struct control *c, struct job *j); /* deletes records that are no longer needed */
void split_start(struct control *c);                /* when all is restored */
