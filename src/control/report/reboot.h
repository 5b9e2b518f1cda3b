/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scontrol reboot. A request is kept with the node (struct node_reboot) until no job or leftover of
 * a job is on the node; then its daemon is ordered to run RebootProgram, and the node gets no work.
 * The reboot ends when the node registers with another incarnation. A node that does not register
 * within ResumeTimeout becomes DOWN.
 */
#pragma once

#include "base/err.h"
#include "control/control.h"

struct node;

/* Whether State=REBOOT or CANCEL_REBOOT is possible now. -ERR_PARSE, -ERR_TRANSITION, -ERR_CONFIG:
 * RebootProgram is not configured. */
int reboot_check(const struct control *c, const struct node *n, const Pb__NodeUpdate *r,
                 struct err *err);
/* Both functions change the node; the caller saves it. */
void reboot_request(struct control *c, struct node *n, const Pb__NodeUpdate *r, uint32_t uid);
void reboot_cancel(struct control *c, struct node *n);

/* Once per turn: orders the daemons of nodes that became free to reboot. */
void reboot_turn(struct control *c);
/* Recounts the requests after a restart or a reconfiguration. */
void reboot_count(struct control *c);

/* The node has registered: its reboot has ended, or the order is repeated. */
void reboot_registered(struct control *c, struct node *n);
/* The node has not registered within ResumeTimeout (node_heard()): drops the reboot and returns the
 * reason for DOWN. The caller frees it. */
char *reboot_time_out(struct control *c, struct node *n);
