/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that wait for job_submit plugins, or for burst_buffer.lua. */
#pragma once

#include "slurmctld/core/ctld.h"

int submit_wait_ask(struct ctld *c, struct env_submit *ask, struct err *err); /* ENV_SUBMIT_LATER */
/* The same of burst_buffer.lua, as env.ask_burst; and its answer: false, it is none. */
int submit_wait_ask_burst(void *ctx, Pb__ScriptRun *question, struct err *err);
bool submit_wait_burst_answer(struct ctld *c, const Pb__ScriptEnded *m);
void submit_wait_keep(struct ctld *c, const struct rpc_request *r); /* it was dispatched */
void submit_wait_answer(void *ctx, const Pb__SubmitAnswer *a);
void submit_wait_again(struct ctld *c); /* those who are to answer are others now */
void submit_wait_drop(struct ctld *c, uint64_t call);
void submit_wait_done(struct ctld *c);
