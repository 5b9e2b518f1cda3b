/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that are to belong to a job (RPC ADOPT, of root alone): which job, and the way into its
 * extern step. The job is one of the user's that runs here: the only one; the one that was asked
 * for; that of the process where the login came from; or the newest.
 */
#pragma once

#include "proto/adopt.pb-c.h"
#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"

struct step;

/* On its way; its caller waits. */
struct adoption {
    uint64_t call;
    struct note_adopted who;
    Pb__AdoptHow how;
    bool sent;       /* to the shepherd */
    int64_t late_ms; /* loop_mono_ms(): its caller is answered, one way or the other */
};

void adopt_request(struct slurmd *d, const struct rpc_request *r);
void adopt_gone(struct slurmd *d, uint64_t call); /* its caller has closed */

/* The shepherd of the extern step runs; it has answered; none will. */
void adopt_begin(struct step *s);
void adopt_done(struct step *s, uint64_t call, const Pb__StepdAdopted *m);
void adopt_fail(struct attempt *a, const char *text);
