/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gates of cluster/job/reason.def between a pending job and its queue. */
#pragma once

#include "cluster/job/reason.h"

struct control;
struct err;
struct job;

/* The effect of a partition's closed gate on a submission. */
enum gate_refusal { GATE_WAITS = 0, GATE_REFUSES = 1, GATE_ENFORCED = 2 };

/* Evaluates the gates of the whole job; REASON_NONE: all are open. */
enum reason gate_of_job(struct control *c, struct job *j);
/* Queues the job in each of its partitions whose gates are open. Returns REASON_NONE, or the reason
 * that keeps it out of all of them. */
enum reason gate_queue(struct control *c, struct job *j);

/* Evaluates the gates with these refusals (bits) for the job's selected partition. The rows are
 * evaluated from the last to the first: a request that no node could serve is reported before
 * limits of the partition. Returns the refusal of a closed gate, with its code and text in *err, or
 * GATE_WAITS. */
enum gate_refusal gate_refuse(struct control *c, struct job *j, unsigned refusals, struct err *err);
/* Returns the reason of the first closed GATE_ENFORCED in that partition, or REASON_NONE. */
enum reason gate_beyond_limits(struct control *c, struct job *j);
