/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gates of cluster/job/reason.def that a pending job passes on its way into the queue.
 */
#pragma once

#include "cluster/job/reason.h"

struct control;
struct err;
struct job;

/* What a closed gate of a partition does to a submission. */
enum gate_refusal { GATE_WAITS = 0, GATE_REFUSES = 1, GATE_ENFORCED = 2 };

/* Of the job as a whole; REASON_NONE: all are open. */
enum reason gate_of_job(struct control *c, struct job *j);
/* Into the queues of those of its partitions whose gates are open. REASON_NONE, or what keeps it
 * out of all of them. */
enum reason gate_queue(struct control *c, struct job *j);

/* The gates of these refusals, bits, asked for the partition that the job has now. The last row is
 * asked first: what no node could serve is named before what the partition does not allow. Returns
 * the refusal of the gate that is closed, with its code and text in *err, or GATE_WAITS. */
enum gate_refusal gate_refuse(struct control *c, struct job *j, unsigned refusals, struct err *err);
/* The reason of the first GATE_ENFORCED that is closed in that partition, or REASON_NONE. */
enum reason gate_beyond_limits(struct control *c, struct job *j);
