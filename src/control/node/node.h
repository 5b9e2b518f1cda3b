/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Actions on nodes and their states: node.c. node_report.c processes the messages of nodes.
 *
 * A reboot of a node lasts from the order to its daemon until the node registers with another
 * incarnation. It is started by scontrol reboot (control/report/reboot.h) and by jobs with --reboot
 * (control/life/ready.h).
 */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct node;

void node_send_orders(struct control *c, const struct node *n, Pb__NodeOrder *order);
void node_heard(struct control *c, struct node *n); /* resets the unresponsiveness timer */

void node_drain(struct control *c, struct node *n, const char *reason); /* unless it is drained */
void node_resume(struct control *c, struct node *n); /* whatever took it out of service */
/* Orders the node to end everything of this attempt, and to start nothing of it. */
void node_send_banish(struct control *c, const struct node *n, uint32_t job_id, uint32_t restarts);
void node_send_banish_to(struct control *c, const char *node, uint32_t job_id, uint32_t restarts);
bool node_has_orphan(const struct node *n, uint32_t job_id, uint32_t restarts);
void node_set_down(struct control *c, struct node *n, const char *reason);

#define NODE_REBOOT_REASON "reboot requested"

/* Begins the reboot. 'incarnation': the node's incarnation before it; copied. */
void node_issue_reboot(struct control *c, struct node *n, const char *incarnation);
/* Orders a connected daemon to run RebootProgram. */
void node_send_reboot(struct control *c, const struct node *n);
/* Appends the text to the node's reason: "reason : text". */
void node_add_to_reason(struct control *c, struct node *n, const char *text);
void node_forget_reboot(struct node *n);
