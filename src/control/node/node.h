/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done to nodes and asked of them: node.c. What they say is taken in node_report.c. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

void node_send_orders(struct control *c, const struct node *n, Pb__NodeOrder *order);
void node_heard(struct control *c, struct node *n);       /* its silence is counted from now */
void update_node_resume_due(struct control *c);           /* when ResumeAfter of a node is over */
void update_node_resume_look(struct control *c);          /* nodes and their dates are others */
void node_fail_silent(struct control *c, struct node *n); /* its time is over */
void node_lose_jobs(struct control *c, struct node *n);   /* those that hold something of it */

void node_drain(struct control *c, struct node *n, const char *reason); /* unless it is */
/* The job goes on without it: it ends what it has of it, and until it has it takes no work. */
void node_give_back(struct control *c, struct node *n, struct job *j, const char *why);
/* It is to end what it has of this attempt, and to begin nothing of it. */
void node_send_banish(struct control *c, const struct node *n, uint32_t job_id, uint32_t restarts);
/* Nothing of it is left there. */
void node_lay_ghost(struct control *c, struct node *n, uint32_t job_id, uint32_t restarts);
