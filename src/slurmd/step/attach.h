/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Watchers of steps (docs/adr/0019): who may have one is decided here, by the identity of the
 * request; the step's shepherd then connects to it.
 */
#pragma once

#include "proto/io.pb-c.h"
#include "rpc/server.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/step/step.h"

/* Answers the call, now or when the shepherd has. */
void attach_step(struct slurmd *d, const struct rpc_request *r);

/* The shepherd's answer to the request of this number. */
void attach_done(struct step *s, uint64_t number, const Pb__StepdAttached *m);
void attach_fail(struct step *s); /* the shepherd has gone: so have those that it owes an answer */
