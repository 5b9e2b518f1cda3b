/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers queries on this host about which processes belong to which step. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "proto/usage.pb-c.h"
#include "rpc/server.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/usage/tally.h"

/* Makes the list of the requested steps as of the last look, in the arena. */
void pids_view(const struct tally *t, const Pb__NodePidsRequest *ask, struct arena *arena,
               Pb__NodePids *m);

/* With PrivateData=jobs, keeps only the user's own steps in the answer, as if no other existed. */
void pids_hide(const struct slurmd *d, uid_t uid, Pb__NodePids *m);

/* The shepherd above the process, since orphans become its children. Returns NULL if there is
   none. */
typedef pid_t pids_parent_fn(pid_t pid); /* 0: unknown */
const struct tally_step *pids_find(const struct tally *t, pid_t pid, pids_parent_fn *parent_of);
pid_t pids_parent(pid_t pid); /* asks the kernel */

/* RPC ORIGIN: the job of the process that made a connection. */
void pids_answer_origin(struct slurmd *d, const struct rpc_request *r);
