/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A job that may run in several partitions (--partition=a,b). It is one record and in the queue of
 * each of them. What of a job depends on its partition (its priority, its limit, what it asks for
 * by default) is kept for each, a *face*; the job has one of them at a time, as job->part and the
 * fields that go with it, so that who looks at a job in a queue sees one of that partition. While
 * nobody looks it has the first one. When it starts it keeps the face it has, and the others go.
 *
 * A job of one partition has no faces, and costs nothing of this.
 */
#pragma once

#include "cluster/index/order.h"
#include "cluster/job/request.h"
#include "conf/conf.h"

struct cluster;
struct job;
struct job_copy;
struct part;

struct face {
    struct job *job;
    struct part *part;
    struct order_link queued; /* in its queue */
    struct request want;      /* these are the job's own while it has this face: */
    uint32_t priority;
    int64_t limit_sec;
    bool judged, never; /* control/: whether it could ever run there was asked; it could not */
};

struct several {
    uint32_t count, at; /* at: which one it has */
    struct face of[];
};

/* Of a pending job that is in no queue. One: it is an ordinary job of that partition. What follows
 * from its spec is to be read by job_read_spec() then. */
void several_set(struct job *j, struct part *const *parts, size_t count);
/* The partitions that a list of names has, each once; those that are not there are left out. False:
 * there is none. */
bool several_resolve(const struct cluster *c, struct job *j, const char *names);
/* Out of all queues; it keeps the face it has. */
void several_end(struct job *j);
/* The same, and it is in no partition: for what has ended without a start. */
void several_name(struct job *j);
void several_free(struct job *j);

/* The partition goes away; false: it was its last one, and it has it still. */
bool several_drop(struct job *j, const struct part *p);

/* The job gets that face; nothing for a job that has none. */
void several_enter(struct job *j, uint32_t at);
/* The same by the partition; false: it is not one of its. */
bool several_enter_part(struct job *j, const struct part *p);
void several_leave(struct job *j); /* the first one */

/* The job as it is in that partition: itself, or 'room', which borrows all that it points to and
 * lives no longer than the job stays as it is. NULL: it is not one of its partitions. */
const struct job *several_view(const struct job *j, const struct part *p, struct job_copy *room);
/* Its place in the queue of the partition that it has. */
const struct order_link *several_link(const struct job *j);

/* Of a link in a partition's queue. */
struct job *several_job_of(struct order_link *link);
struct face *several_face_of(struct order_link *link); /* NULL: of a job that has none */

/* How many partitions a loop over its faces has; 1 of a job that has none. */
uint32_t several_count(const struct job *j);

/* It may run in the partition, or does. */
bool several_has(const struct job *j, const struct part *p);
bool several_is_queued(const struct job *j); /* in any queue */
void several_unqueue(struct job *j);         /* out of all of them */
/* Its place in the queue of the partition it has, as several_queue() would put it there. */
int64_t several_key(const struct job *j);
/* It is queued by what its priority is; a job that asks for a reservation before all others. */
bool several_keys_hold(const struct job *j);
/* Its places in the queues that it is in are what they should be again. */
void several_move(struct job *j);
/* Into the queue of the partition it has. */
void several_queue(struct job *j);

/* "a,b"; lives as long as the job has these. */
void several_format(const struct job *j, struct str *out);
