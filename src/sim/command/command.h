/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands, and their owners: who submits jobs and runs steps, and what administrators do. Commands
 * know controllers by events alone: a request is an event for one, and so is its reply. Only a
 * caller that hangs up is seen at once, by sim.call_gone. Each file calls only those above it here.
 */
#pragma once

#include "sim/rule/rule.h"

/* call.c */
uint64_t sim_call(struct sim *s, enum sim_owner owner, enum sim_request request, unsigned index,
                  struct rng *rng, const ProtobufCMessage *body);
void sim_call_close(struct sim *s, uint64_t call); /* its owner hangs up */

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

/* client.c */
void sim_client_act(struct sim *s, unsigned index);
void sim_client_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e);
void sim_client_lost(struct sim *s, const struct sim_call *call);
void sim_client_break(struct sim *s, unsigned index, bool dies);

/* SIM_DO_COUNT: an operator sets the count of what nodes have in common */
void sim_count_send(struct sim *s, unsigned index, const struct sim_item *a);
void sim_count_answered(struct sim *s, const struct sim_item *a);

/* act.c */
void sim_act(struct sim *s, unsigned index);
void sim_act_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e);
void sim_act_lost(struct sim *s); /* the answer to one who announced a shutdown or called it off */

/* reply.c */
void sim_call_answered(struct sim *s, struct sim_event *e);
void sim_call_lose(struct sim *s, struct sim_call *call); /* there will be no answer */
void sim_calls_lost(struct sim *s, uint64_t life); /* the controller is gone, with its calls */
void sim_call_give_up(struct sim *s, uint64_t number);
