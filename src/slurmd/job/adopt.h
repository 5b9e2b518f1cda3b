/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Adopts processes into a job (RPC ADOPT, root only): chooses the job, and moves the process into
 * the job's extern step. The job is a running job of the user on this node: the only one; the
 * requested one; the job of the process that the login came from; or the newest one.
 */
#pragma once

#include "proto/adopt.pb-c.h"
#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"

struct step;

/* An unanswered request. */
struct adoption {
    uint64_t call;
    struct note_adopted who;
    Pb__AdoptHow how;
    bool sent;       /* sent to the shepherd */
    int64_t late_ms; /* loop_mono_ms() at which its caller is answered in any case */
};

void adopt_request(struct slurmd *d, const struct rpc_request *r);
void adopt_gone(struct slurmd *d, uint64_t call); /* the caller has closed the connection */

/* The shepherd of the extern step runs; has answered; will not run. */
void adopt_begin(struct step *s);
void adopt_done(struct step *s, uint64_t call, const Pb__StepdAdopted *m);
void adopt_fail(struct attempt *a, const char *text);
