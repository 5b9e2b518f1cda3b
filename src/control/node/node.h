/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions on nodes and their states: node.c. node_report.c processes the messages of nodes. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

void node_send_orders(struct control *c, const struct node *n, Pb__NodeOrder *order);
void node_heard(struct control *c, struct node *n); /* resets the unresponsiveness timer */

void node_drain(struct control *c, struct node *n, const char *reason); /* unless it is drained */
void node_resume(struct control *c, struct node *n); /* whatever took it out of service */
/* Orders the node to end everything of this attempt, and to start nothing of it. */
void node_send_banish(struct control *c, const struct node *n, uint32_t job_id, uint32_t restarts);
void node_send_banish_to(struct control *c, const char *node, uint32_t job_id, uint32_t restarts);
bool node_has_orphan(const struct node *n, uint32_t job_id, uint32_t restarts);
void node_set_down(struct control *c, struct node *n, const char *reason);
