/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done to nodes and asked of them: node.c. What they say is taken in node_report.c. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

void node_send_orders(struct control *c, const struct node *n, Pb__NodeOrder *order);
void node_heard(struct control *c, struct node *n); /* its silence is counted from now */

void node_drain(struct control *c, struct node *n, const char *reason); /* unless it is */
void node_resume(struct control *c, struct node *n); /* whatever it was taken out of service for */
/* It is to end what it has of this attempt, and to begin nothing of it. */
void node_send_banish(struct control *c, const struct node *n, uint32_t job_id, uint32_t restarts);
void node_send_banish_to(struct control *c, const char *node, uint32_t job_id, uint32_t restarts);
bool node_has_orphan(const struct node *n, uint32_t job_id, uint32_t restarts);
void node_set_down(struct control *c, struct node *n, const char *reason);
