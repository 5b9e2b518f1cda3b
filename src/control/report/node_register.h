/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that come, and nodes that are lost with what they have of jobs. */
#pragma once

#include "cluster/cluster.h"

struct control;

void node_fail_silent(struct control *c, struct node *n); /* its time is over */
void node_lose_jobs(struct control *c, struct node *n);   /* those that hold something of it */
/* Nothing of it is left there. */
void node_clear_orphan(struct control *c, struct node *n, uint32_t job_id, uint32_t restarts);
