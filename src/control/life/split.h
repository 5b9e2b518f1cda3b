/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Job arrays, as far as the transitions of their elements are concerned. */
#pragma once

#include "cluster/cluster.h"

struct control;

struct split_part { /* a record that a request means; from: it was made of that one for it, or 0 */
    uint32_t job_id, from;
};
struct split_list { /* used as a VEC */
    struct split_part *data;
    size_t len, room;
};
/* The record of the element that is to start next: j itself when it has no other. NULL: its record
 * cannot be copied. */
struct job *split_first(struct control *c, struct job *j);
/* The records of a job, of all elements of an array, or of these elements of it ("1-5,7"), which
 * get records of their own; of a job set all components by the id of the leader, and one
 * by an offset or its own id. -ERR_NO_JOB: there are none. Each is to be settled. */
int split_targets(struct control *c, const Pb__StepId *id, struct split_list *out, struct err *err);
/* The same, of a request to cancel, hold or release, in which the own id of a component may mean
 * all components, see set_is_meant_whole(). */
int split_whole_targets(struct control *c, const Pb__StepId *id, struct split_list *out,
                        struct err *err);
/* How many of them, from this one on, are components of one set; 1 for a record that is in none. */
size_t split_count_set(struct control *c, const struct split_list *list, size_t first);
/* done: something came of it; else the record is as if it had not been split. */
void split_settle(struct control *c, const struct split_part *part, bool done);
void split_await(struct control *c, struct array *a, uint64_t call); /* the end of all elements */
void split_answer_waiters(struct control *c, struct array *a);       /* when it has come */
void split_call_gone(struct control *c, uint32_t id, uint64_t call);
void split_show_throttle(struct control *c, struct array *a); /* it was changed */
uint32_t split_payload_id(const struct job *j);               /* RECORD_PAYLOAD of the job */
void split_write(struct control *c);                          /* records of arrays */
void split_purge(struct control *c, struct job *j); /* what of its records nobody needs any more */
void split_start(struct control *c);                /* all is restored */
