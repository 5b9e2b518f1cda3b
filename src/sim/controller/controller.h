/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Controllers: the process around control/, and its exchanges with the store, the nodes and the
 * other controllers. Each file calls only the files above it in this list. */
#pragma once

#include "sim/rule/rule.h"

/* store.c: commits, and the messages that leave after them */
void sim_store_open(struct sim *s); /* creates the outbox of a leader */
struct sim_batch *sim_store_batch(struct sim *s);
/* Sends the event when its turn is on disk. */
void sim_store_say(struct sim *s, struct sim_event event);
void sim_store_commit(struct sim *s);
void sim_store_applied(struct sim *s);
/* The running commit has finished: sends the messages that waited for it. */
void sim_store_release(struct sim *s);
/* At a crash; 'kept': the running commit reached the disk. */
void sim_store_drop(struct sim *s, bool kept);
void sim_store_done(struct sim *s);

/* process.c: turns, commits, announced shutdowns, and the end of the process */
void sim_announce_take(struct sim *s, uint64_t call, const Pb__ShutdownRequest *r);
void sim_announce_check_start(struct sim *s);
void sim_ctl_turn(struct sim *s);
void sim_ctl_commit(struct sim *s);
void sim_ctl_committed(struct sim *s);
void sim_ctl_kill(struct sim *s, int64_t for_ms); /* only when there are several controllers */

/* load.c: sessions of nodes, the nodes of the active configuration, and configurations that are
 * read while the controller runs */
void sim_ctl_end_session(struct sim *s, struct sim_node *n);
void sim_ctl_close_session(struct sim *s, unsigned index);
void sim_ctl_hang_up(struct sim *s, unsigned index);
void sim_ctl_learn_nodes(struct sim *s);
int sim_load_conf(struct sim *s, const char *added_lines, struct conf **conf, struct err *err);
void sim_load_file(struct sim *s, uint64_t call, bool preview);
void sim_load_nodes(struct sim *s, uint64_t call, const Pb__NodeUpdate *r);
void sim_load_registrant(struct sim *s, unsigned node, const Pb__NodeRegister *r);
void sim_load_ready(struct sim *s, unsigned index);
void sim_load_done(struct sim *s);

/* controller.c: the env of control/, messages from nodes, the start */
void sim_ctl_env(struct sim *s);
void sim_ctl_receive(struct sim *s, struct sim_event *e);
void sim_ctl_lost(struct sim *s, struct sim_event *e);
int sim_ctl_start(struct sim *s, struct err *err);

/* hook.c: scripts, and functions of burst_buffer.lua */
void sim_hook_receive(struct sim *s, struct sim_event *e);
void sim_hook_end(struct sim *s, const struct sim_event *e);
void sim_hook_done(struct sim *s);

/* lead.c: several controllers */
void sim_lead_begin(struct sim *s); /* starts a process, in standby */
void sim_lead_done(struct sim *s);
void sim_lead_tick(struct sim *s, const struct sim_event *e);
void sim_lead_pinged(struct sim *s, const struct sim_event *e);
void sim_lead_ponged(struct sim *s, const struct sim_event *e);
void sim_lead_yield(struct sim *s);
void sim_lead_prove(struct sim *s, const struct sim_event *e);
void sim_lead_summon(struct sim *s, const struct sim_event *e);
/* False: the request goes to another controller or is given up. */
bool sim_lead_serves(struct sim *s, struct sim_event *e);
void sim_lead_waits(struct sim *s, uint64_t number);
void sim_lead_give_up(struct sim *s, const struct sim_event *e);
void sim_lead_fault(struct sim *s, const struct sim_item *f);

/* request.c: requests of commands */
void sim_call_arrives(struct sim *s, struct sim_event *e);
void sim_call_gone(struct sim *s, uint64_t number);
