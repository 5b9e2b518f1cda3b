/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that wait for job_submit plugins or for burst_buffer.lua. */
#pragma once

#include "slurmctld/core/ctld.h"

/* Returns ENV_SUBMIT_LATER. */
int submit_wait_ask(struct ctld *c, struct env_submit *ask, struct err *err);
/* The same for burst_buffer.lua, as env.ask_burst; and its answer. False: the message is no such
   answer. */
int submit_wait_ask_burst(void *ctx, Pb__ScriptRun *question, struct err *err);
bool submit_wait_burst_answer(struct ctld *c, const Pb__ScriptEnded *m);
/* Keeps a dispatched request. */
void submit_wait_keep(struct ctld *c, const struct rpc_request *r);
void submit_wait_answer(void *ctx, const Pb__SubmitAnswer *a);
/* The plugins have changed: asks all waiting questions again. */
void submit_wait_again(struct ctld *c);
void submit_wait_drop(struct ctld *c, uint64_t call);
void submit_wait_done(struct ctld *c);
