/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pending job in the queues of its partitions, and out of them. */
#pragma once

#include "cluster/job/transition.h"

struct control;
struct job;

/* Pending: into its queue, or out of it with a reason. */
void enqueue_job(struct control *c, struct job *j);
/* It has ended. */
void enqueue_leave(struct control *c, const struct transition *t);
