/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attaching to steps (docs/adr/0019). This module decides by the identity of the caller who may
 * attach; the step's shepherd then connects to the caller.
 */
#pragma once

#include "proto/io.pb-c.h"
#include "rpc/server.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/step/step.h"

/* Answers the call, at once or when the shepherd has answered. */
void attach_step(struct slurmd *d, const struct rpc_request *r);

/* Handles the shepherd's answer to the request with this number. */
void attach_done(struct step *s, uint64_t number, const Pb__StepdAttached *m);
/* The shepherd has gone: fails the requests that it has not answered. */
void attach_fail(struct step *s);
