/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A job that may run in one of several partitions (--partition=a,b). The job is one record and
 * waits in the queue of each partition. The values that depend on the partition (priority, limit,
 * defaults of the request) are kept once for each partition, in a struct part_request. One
 * partition is selected at any time: job->part and the fields that depend on it have the values of
 * this partition. By default the first one is selected. A job that starts keeps the selected
 * partition; the others are freed.
 *
 * A job with one partition has no struct job_partitions.
 */
#pragma once

#include "cluster/index/order.h"
#include "cluster/job/request.h"
#include "conf/conf.h"

struct cluster;
struct job;
struct job_copy;
struct part;

struct part_request {
    struct job *job;
    struct part *part;
    struct order_link queued; /* in its queue */
    /* While this partition is selected, the job itself has this value and the next two. */
    struct request want;
    uint32_t priority;
    int64_t limit_sec;
    bool judged, never; /* control: feasibility was checked; the job can never run there */
};

struct job_partitions {
    uint32_t count, at; /* at: the selected one */
    struct part_request of[];
};

/* Sets the partitions of a pending job that is in no queue. With one partition it becomes an
 * ordinary job. The caller then sets the request by job_read_spec(). */
void job_partitions_set(struct job *j, struct part *const *parts, size_t count);
/* Sets the partitions of a list of names, each once; unknown names are ignored. False: no name is
 * known. */
bool job_partitions_resolve(const struct cluster *c, struct job *j, const char *names);
/* Takes the job out of all queues; it keeps the selected partition. */
void job_partitions_end(struct job *j);
/* Takes a job that ended without a start out of all queues and all partitions. */
void job_partitions_end_unstarted(struct job *j);
void job_partitions_free(struct job *j);

/* Removes the partition from the job. False: it is the job's last partition, and the job keeps
 * it. */
bool job_partitions_drop(struct job *j, const struct part *p);

/* Selects a partition by its index; does nothing for a job of one partition. */
void job_partitions_select(struct job *j, uint32_t at);
/* Selects a partition by pointer; false: the job is not in it. */
bool job_partitions_select_part(struct job *j, const struct part *p);
void job_partitions_select_first(struct job *j);

/* Returns the job with the values for this partition: the job itself, or 'room', which borrows
 * everything from the job and is valid until the job changes. NULL: the job is not in the
 * partition. */
const struct job *job_partitions_view(const struct job *j, const struct part *p,
                                      struct job_copy *room);
/* The link of the job in the queue of the selected partition. */
const struct order_link *job_partitions_link(const struct job *j);

/* Returns the job of a link in a partition's queue. */
struct job *job_partitions_job_of(struct order_link *link);
/* Returns the request of a link; NULL: the job has one partition. */
struct part_request *job_partitions_request_of(struct order_link *link);

/* The number of partitions, for a loop over job_partitions_select(). */
uint32_t job_partitions_count(const struct job *j);

/* The job may run in the partition, or runs there. */
bool job_partitions_has(const struct job *j, const struct part *p);
bool job_partitions_is_queued(const struct job *j); /* in any queue */
void job_partitions_unqueue(struct job *j);         /* from all queues */
/* The key with which job_partitions_queue() puts the job into the queue of the selected partition.
 */
int64_t job_partitions_queue_key(const struct job *j);
/* Whether the keys of all links agree with the priorities. Jobs with a reservation precede all
 * others. */
bool job_partitions_keys_hold(const struct job *j);
/* Moves the job to the place of its priority in each of its queues. */
void job_partitions_move(struct job *j);
/* Puts the job into the queue of the selected partition. */
void job_partitions_queue(struct job *j);

/* Appends "a,b"; nothing for a job of one partition. */
void job_partitions_format(const struct job *j, struct str *out);
