/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reboot of a node, from the order to its daemon until the node registers with another
 * incarnation. scontrol reboot (control/report/reboot.h) and jobs with --reboot
 * (control/life/boot.h) begin it.
 */
#pragma once

#include "control/control.h"

struct node;

#define NODE_REBOOT_REASON "reboot requested"

/* Begins the reboot. 'incarnation': of the node before it; copied. */
void node_issue_reboot(struct control *c, struct node *n, const char *incarnation);
/* Tells a daemon that is connected to run RebootProgram. */
void node_send_reboot(struct control *c, const struct node *n);
/* "reason : text" */
void node_add_to_reason(struct control *c, struct node *n, const char *text);
void node_forget_reboot(struct node *n);
