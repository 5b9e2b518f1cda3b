/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gates of sched/plan/gate.def that a pending job passes on its way into the queue.
 */
#pragma once

#include "cluster/job/reason.h"

struct control;
struct job;

/* Of the job as a whole; REASON_NONE: all are open. */
enum reason gate_of_job(struct control *c, struct job *j);
/* Into the queues of those of its partitions whose gates are open. REASON_NONE, or what keeps it
 * out of all of them. */
enum reason gate_queue(struct control *c, struct job *j);
