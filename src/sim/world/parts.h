/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this room do for each other. */
#pragma once

#include "sim/rule/rule.h"

/* ctl.c: the process around control/ */
int sim_ctl_start(struct sim *s, struct err *err);
void sim_ctl_crash(struct sim *s);
void sim_ctl_end(struct sim *s);                         /* there is no controller from now on */
bool sim_ctl_point(struct sim *s, enum sim_point point); /* true: it has just been killed there */
void sim_ctl_turn(struct sim *s);
void sim_ctl_receive(struct sim *s, struct sim_event *e);
void sim_ctl_lost(struct sim *s, struct sim_event *e);
void sim_ctl_learn(struct sim *s);
void sim_ctl_hang_up(struct sim *s, unsigned index);
void sim_ctl_env(struct sim *s);

/* lead.c: several controllers */
void sim_lead_begin(struct sim *s); /* a process, in standby */
void sim_lead_down(struct sim *s, bool waits, int64_t for_ms);
void sim_lead_kill(struct sim *s, int64_t for_ms);
void sim_lead_lose(struct sim *s);
void sim_lead_done(struct sim *s);
void sim_lead_tick(struct sim *s, const struct sim_event *e);
void sim_lead_pinged(struct sim *s, const struct sim_event *e);
bool sim_lead_pongs(struct sim *s, const struct sim_event *pong);
void sim_lead_ponged(struct sim *s, const struct sim_event *e);
void sim_lead_yield(struct sim *s);
void sim_lead_prove(struct sim *s, const struct sim_event *e);
void sim_lead_summon(struct sim *s, const struct sim_event *e);
void sim_lead_stop_others(struct sim *s, int64_t for_ms);
bool sim_lead_serves(struct sim *s, struct sim_event *e); /* false: the request goes elsewhere */
void sim_lead_waits(struct sim *s, uint64_t number);
void sim_lead_give_up(struct sim *s, const struct sim_event *e);
void sim_lead_fault(struct sim *s, const struct sim_item *f);

/* load.c: other configurations */
int sim_load_conf(struct sim *s, const char *made, struct conf **conf, struct err *err);
void sim_load_file(struct sim *s, uint64_t call, bool preview);
void sim_load_nodes(struct sim *s, uint64_t call, const Pb__NodeUpdate *r);
void sim_load_registrant(struct sim *s, unsigned node, const Pb__NodeRegister *r);
void sim_load_ready(struct sim *s, unsigned index);
void sim_load_done(struct sim *s);

/* store.c: commits */
void sim_store_open(struct sim *s); /* the outbox of a lead */
struct sim_batch *sim_store_batch(struct sim *s);
void sim_store_say(struct sim *s, struct sim_event event); /* once what it waits for is on disk */
void sim_store_commit(struct sim *s);
void sim_store_applied(struct sim *s);
void sim_store_committed(struct sim *s);
void sim_store_drop(struct sim *s,
                    bool kept); /* at a crash: the batch under way is on disk or not */
void sim_store_done(struct sim *s);

/* node.c: a node daemon's sessions and reports */
void sim_node_connect(struct sim *s, unsigned index);
void sim_node_summoned(struct sim *s, const struct sim_event *e);
void sim_node_beat(struct sim *s, struct sim_event *e);
void sim_node_receive(struct sim *s, struct sim_event *e);
void sim_node_incarnation(const struct sim_node *n, char text[static SIM_NAME]);
void sim_node_register(struct sim *s, unsigned index);
void sim_node_hangup(struct sim *s, struct sim_event *e);
void sim_node_break(struct sim *s, unsigned index, int64_t node_ms, int64_t control_ms);
void sim_node_end(struct sim *s, unsigned index, uint64_t session); /* behind what is under way */
void sim_node_kill(struct sim *s, unsigned index, bool reboot, int64_t down_ms);
void sim_node_start(struct sim *s, unsigned index);
void sim_node_flush(struct sim *s, unsigned index);
void sim_node_tell(struct sim *s, unsigned index, Pb__NodeEvent *event);
void sim_node_acknowledged(struct sim *s, unsigned index, uint64_t seq);
void sim_node_done(struct sim_node *n);

/* order.c: a node's jobs */
void sim_order_take(struct sim *s, unsigned index, const Pb__NodeOrders *orders, bool closed);
void sim_order_work(struct sim *s, struct sim_event *e);
void sim_order_step(struct sim *s, struct sim_event *e);
void sim_order_forget(struct sim *s, unsigned index, struct sim_key key);
struct sim_node_job *sim_order_find(struct sim_node *n, struct sim_key key);

/* call.c */
uint64_t sim_call(struct sim *s, enum sim_owner owner, enum sim_request request, unsigned index,
                  struct rng *rng, const ProtobufCMessage *body);
void sim_call_arrives(struct sim *s, struct sim_event *e);
void sim_call_answered(struct sim *s, struct sim_event *e);
void sim_call_close(struct sim *s, uint64_t call); /* its owner hangs up */
void sim_calls_lost(struct sim *s, uint64_t life); /* the controller is gone, with its calls */
void sim_call_give_up(struct sim *s, uint64_t number);
void sim_call_gone(struct sim *s, uint64_t number);

/* client.c */
void sim_client_act(struct sim *s, unsigned index);
void sim_client_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e);
void sim_client_lost(struct sim *s, const struct sim_call *call);
void sim_client_break(struct sim *s, unsigned index, bool dies);
void sim_client_step_over(struct sim *s, unsigned index);

/* srun.c */
void sim_srun_begin(struct sim *s, unsigned client, unsigned number, struct sim_key key, long node);
/* Of a leader's script, for a step of another component. */
void sim_srun_begin_for(struct sim *s, struct sim_key script, unsigned number, uint32_t offset,
                        long node);
/* The srun of a job that runs already, without its step. */
void sim_srun_begin_owner(struct sim *s, unsigned client, struct sim_key key);
void sim_srun_begin_launched(struct sim *s, unsigned client, struct sim_key key,
                             const Pb__StepReply *step);
void sim_srun_act(struct sim *s, unsigned index);
void sim_srun_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e);
void sim_srun_part_over(struct sim *s, unsigned index);
void sim_srun_end_all(struct sim *s, struct sim_key key, long node); /* their script is gone */
void sim_srun_spec(const struct sim *s, const struct sim_client *c, unsigned number,
                   Pb__StepSpec *step);

/* burst.c; true: it was for a burst buffer */
bool sim_burst_receive(struct sim *s, const Pb__ScriptRun *m, bool stop);
bool sim_burst_end(struct sim *s, const struct sim_event *e);
void sim_burst_crash(struct sim *s, uint64_t life);
void sim_burst_done(struct sim *s);

/* hook.c */
void sim_hook_receive(struct sim *s, struct sim_event *e);
void sim_hook_end(struct sim *s, const struct sim_event *e);
void sim_hook_crash(struct sim *s, uint64_t life);
void sim_hook_conf(struct sim *s, const struct conf *conf);
void sim_hook_done(struct sim *s);

/* act.c */
void sim_act(struct sim *s, unsigned index);
void sim_act_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e);

/* announce.c: shutdowns that are announced */
void sim_announce_ask(struct sim *s, const struct sim_item *a, unsigned act);
void sim_announce_send(struct sim *s, unsigned index, const struct sim_item *a);
void sim_announce_take(struct sim *s, uint64_t call, const Pb__ShutdownRequest *r);
void sim_announce_reply(struct sim *s, const struct sim_item *a, unsigned act, bool done);
void sim_announce_lost(struct sim *s);
void sim_announce_turn(struct sim *s);
void sim_announce_left(struct sim *s);        /* while it is stopping: all of it */
void sim_announce_end(struct sim *s);         /* of the controller, in any way */
int64_t sim_announce_off_ms(struct rng *rng); /* for how long daemons are off then */
void sim_announce_check_start(struct sim *s);

/* fault.c */
void sim_fault(struct sim *s, unsigned index);
void sim_fault_heal(struct sim *s);
void sim_fault_settle(struct sim *s);

/* resv_send.c */
void sim_resv_send(struct sim *s, unsigned index, const struct sim_item *a);
/* Deletes all in which nothing runs. */
void sim_resv_settle(struct sim *s, uint64_t (*new_call)(struct sim *s));
