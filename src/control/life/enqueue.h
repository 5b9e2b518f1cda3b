/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entry of pending jobs into the queues of their partitions, and removal. */
#pragma once

#include "cluster/job/transition.h"

struct control;
struct job;

/* Puts a pending job into its queues, or removes it with a reason. */
void enqueue_job(struct control *c, struct job *j);
/* Removes a job that has ended. */
void enqueue_leave(struct control *c, const struct transition *t);
