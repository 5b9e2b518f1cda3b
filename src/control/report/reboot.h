/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scontrol reboot. A request is kept with the node (struct node_reboot) until the node has no job
 * and nothing left of one; then its daemon is told to run RebootProgram, and the node gets no work.
 * The reboot is over when the node registers with another incarnation. A node that does not within
 * ResumeTimeout is DOWN.
 */
#pragma once

#include "base/err.h"
#include "control/control.h"

struct node;

/* The request of State=REBOOT or CANCEL_REBOOT is possible. -ERR_PARSE, -ERR_TRANSITION,
 * -ERR_CONFIG: RebootProgram is not configured. */
int reboot_check(const struct control *c, const struct node *n, const Pb__NodeUpdate *r,
                 struct err *err);
/* Both change the node and leave saving it to the caller. */
void reboot_request(struct control *c, struct node *n, const Pb__NodeUpdate *r, uint32_t uid);
void reboot_cancel(struct control *c, struct node *n);

/* Once a turn: tells the daemons of nodes that have become free. */
void reboot_turn(struct control *c);
/* After a restart and a reconfiguration: counts the requests. */
void reboot_count(struct control *c);

/* A node that has registered: its reboot is over, or it is told again. */
void reboot_registered(struct control *c, struct node *n);
/* A node that has not registered within ResumeTimeout (node_heard()): forgets the reboot and
 * returns the reason for which the node is DOWN. The caller frees it. */
char *reboot_time_out(struct control *c, struct node *n);
