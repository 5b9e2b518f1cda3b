/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Virtual commands and their owners: users submit jobs and run steps, administrators change the
 * cluster. Commands exchange events with controllers: both requests and replies are events. The one
 * exception is a caller that hangs up: sim.call_gone reports it to the controller at once. Each
 * file calls only the files above it in this list.
 */
#pragma once

#include "sim/rule/rule.h"

/* call.c */
uint64_t sim_call(struct sim *s, enum sim_owner owner, enum sim_request request, unsigned index,
                  struct rng *rng, const ProtobufCMessage *body);
void sim_call_close(struct sim *s, uint64_t call); /* the owner hangs up */

/* srun.c */
void sim_srun_begin(struct sim *s, unsigned client, unsigned number, struct sim_key key, long node);
/* Called by the script of a set's leader, for a step of another component. */
void sim_srun_begin_for(struct sim *s, struct sim_key script, unsigned number, uint32_t offset,
                        long node);
/* The srun of a job that is already running and has no step yet. */
void sim_srun_begin_owner(struct sim *s, unsigned client, struct sim_key key);
void sim_srun_begin_launched(struct sim *s, unsigned client, struct sim_key key,
                             const Pb__StepReply *step);
void sim_srun_act(struct sim *s, unsigned index);
void sim_srun_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e);
void sim_srun_part_over(struct sim *s, unsigned index);
/* The script that started them has ended. */
void sim_srun_end_all(struct sim *s, struct sim_key key, long node);
void sim_srun_spec(const struct sim *s, const struct sim_client *c, unsigned number,
                   Pb__StepSpec *step);

/* client.c */
void sim_client_act(struct sim *s, unsigned index);
void sim_client_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e);
void sim_client_lost(struct sim *s, const struct sim_call *call);
void sim_client_break(struct sim *s, unsigned index, bool dies);

/* SIM_DO_COUNT: an operator sets the count of a resource that nodes share. */
void sim_count_send(struct sim *s, unsigned index, const struct sim_item *a);
void sim_count_answered(struct sim *s, const struct sim_item *a);

/* act.c */
void sim_act(struct sim *s, unsigned index);
void sim_act_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e);
void sim_act_lost(struct sim *s); /* the reply to announcing or withdrawing a shutdown is lost */

/* reply.c */
void sim_call_answered(struct sim *s, struct sim_event *e);
void sim_call_lose(struct sim *s, struct sim_call *call); /* no reply will be sent */
/* The controller has ended, and its calls with it. */
void sim_calls_lost(struct sim *s, uint64_t life);
void sim_call_give_up(struct sim *s, uint64_t number);
