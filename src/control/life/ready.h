/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internal to this subdirectory: jobs that begin when all of their nodes are ready
 * (--wait-all-nodes). */
#pragma once

#include "cluster/cluster.h"
#include "proto/node.pb-c.h"

struct control;

/* ready.c */
/* Called at the job's start: asks its nodes whether they are ready; false: this is not required. */
bool ready_begin(struct control *c, struct job *j);
void ready_look(struct control *c,
                struct job *j); /* checks whether all nodes are ready that the job still has */
void ready_ask_again(struct control *c, struct job *j);
void ready_node(struct control *c, const struct node *n, const Pb__Prepared *m);

/* start.c */
/* For a job that was configuring. */
void start_all_ready(struct control *c, struct job *j);
