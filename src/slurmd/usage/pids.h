/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which processes belong to which step, for those who ask on this host. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "proto/usage.pb-c.h"
#include "rpc/server.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/usage/tally.h"

/* The steps asked for as the last look saw them, in the arena. */
void pids_view(const struct tally *t, const Pb__NodePidsRequest *ask, struct arena *arena,
               Pb__NodePids *m);

/* With PrivateData=jobs a user's answer keeps the steps of his own jobs; those of others might as
 * well not exist. */
void pids_hide(const struct slurmd *d, uid_t uid, Pb__NodePids *m);

/* The step whose shepherd is above the process now: orphans come to be its children. NULL: none. */
typedef pid_t pids_parent_fn(pid_t pid); /* 0: not known */
const struct tally_step *pids_find(const struct tally *t, pid_t pid, pids_parent_fn *parent_of);
pid_t pids_parent(pid_t pid); /* as the kernel says */

/* RPC ORIGIN: which job the process belongs to that has made a connection. */
void pids_answer_origin(struct slurmd *d, const struct rpc_request *r);
