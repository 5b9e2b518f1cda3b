/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prepared launches that wait for the commit of their caller (CORE-227), in memory only. Without a
 * commit, or after a restart, only the prolog has run.
 *
 * The launches of a job and of a user on this node have limits: messages that wait in this daemon
 * (for a prolog, or prepared and not committed), messages in shepherds whose tasks do not run yet,
 * and shepherds. A launch that would exceed a limit is refused. Batch scripts and extern steps,
 * which the controller orders, are counted and never refused.
 */
#pragma once

#include "base/err.h"
#include "proto/step.pb-c.h"
#include "slurmd/job/launch.h"
#include "slurmd/node/slurmd.h"

/* The launch is prepared; it fails unless its commit arrives in time. */
void prepare_await_commit(struct attempt *a, struct launch *l);

/* Commits the launch of this call, or of a call that was joined to it; abandons it. */
void prepare_commit(struct slurmd *d, uint64_t call);
void prepare_gone(struct slurmd *d, uint64_t call);

#define LAUNCH_JOB_BYTES (32u << 20)  /* of the launches of a job */
#define LAUNCH_USER_BYTES (64u << 20) /* of all jobs of a user */
#define LAUNCH_JOB_STEPS 1024         /* waiting or with a shepherd */
#define LAUNCH_USER_STEPS 4096

int prepare_check_limits(const struct slurmd *d, const Pb__Cred *cred, size_t bytes,
                         struct err *err);
int prepare_check_args(const Pb__LaunchTasks *m, struct err *err);
/* Returns how long a prepared launch waits for its commit, given how long its preparation here
 * took; the prologs of the other nodes may still be running. */
int64_t prepare_commit_ms(const struct conf *c, int64_t prepared_ms);
