/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reboot of a node, from the order to its daemon until the node registers with another
 * incarnation. Started by scontrol reboot (control/report/reboot.h) and by jobs with --reboot
 * (control/life/boot.h).
 */
#pragma once

#include "control/control.h"

struct node;

#define NODE_REBOOT_REASON "reboot requested"

/* Begins the reboot. 'incarnation': the node's incarnation before it; copied. */
void node_issue_reboot(struct control *c, struct node *n, const char *incarnation);
/* Orders a connected daemon to run RebootProgram. */
void node_send_reboot(struct control *c, const struct node *n);
/* Appends the text to the node's reason: "reason : text". */
void node_add_to_reason(struct control *c, struct node *n, const char *text);
void node_forget_reboot(struct node *n);
