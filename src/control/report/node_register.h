/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registration of nodes, and loss of nodes with their parts of jobs. */
#pragma once

#include "cluster/cluster.h"

struct control;

void node_fail_silent(struct control *c, struct node *n); /* its time limit has expired */
void node_lose_jobs(struct control *c, struct node *n);   /* jobs that hold resources of the node */
/* Nothing of the orphan is left on the node. */
void node_clear_orphan(struct control *c, struct node *n, uint32_t job_id, uint32_t restarts);
