/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Within this room: jobs that begin when all of their nodes are ready (--wait-all-nodes). */
#pragma once

#include "cluster/cluster.h"
#include "proto/node.pb-c.h"

struct control;

/* ready.c */
/* At its start: its nodes are asked whether they are ready; false: they need not be. */
bool ready_begin(struct control *c, struct job *j);
void ready_look(struct control *c,
                struct job *j); /* all may be, as far as they are its own still */
void ready_ask_again(struct control *c, struct job *j);
void ready_node(struct control *c, const struct node *n, const Pb__Prepared *m);

/* start.c */
/* Of a job that was configuring. */
void start_all_ready(struct control *c, struct job *j);
