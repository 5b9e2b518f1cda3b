/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual nodes: a daemon, its sessions with controllers, and its jobs. Nodes and controllers
 * exchange only events. Each file calls only the files above it in this list. */
#pragma once

#include "sim/rule/rule.h"

/* daemon.c */
void sim_node_send(struct sim *s, unsigned index, enum sim_message message,
                   const ProtobufCMessage *body); /* in the node's current session */
void sim_node_flush(struct sim *s, unsigned index);
void sim_node_tell(struct sim *s, unsigned index, Pb__NodeEvent *event);
void sim_node_register(struct sim *s, unsigned index);
void sim_node_incarnation(const struct sim_node *n, char text[static SIM_NAME]);
void sim_node_break(struct sim *s, unsigned index, int64_t node_ms, int64_t control_ms);
void sim_node_kill(struct sim *s, unsigned index, bool reboot, int64_t down_ms);
void sim_node_done(struct sim_node *n);

/* order.c: the jobs of a node */
void sim_order_take(struct sim *s, unsigned index, const Pb__NodeOrders *orders, bool closed);
void sim_order_work(struct sim *s, struct sim_event *e);
void sim_order_step(struct sim *s, struct sim_event *e);
void sim_order_forget(struct sim *s, unsigned index, struct sim_key key);

/* session.c */
void sim_node_start(struct sim *s, unsigned index);
void sim_node_connect(struct sim *s, unsigned index);
void sim_node_summoned(struct sim *s, const struct sim_event *e);
void sim_node_beat(struct sim *s, struct sim_event *e);
void sim_node_receive(struct sim *s, struct sim_event *e);
void sim_node_hangup(struct sim *s, struct sim_event *e);
/* Closes the session after the messages that are already under way. */
void sim_node_end(struct sim *s, unsigned index, uint64_t session);
