/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Receivers of files for a job's nodes. A caller with a credential of the controller gets a
 * receiver: a child process that becomes the job's user before it uses any path, and reports the
 * address that it listens on. The file does not pass through the daemon. Like a step, a receiver
 * waits for the job's prolog, is in the job's control group, and ends with the job; unlike a step,
 * it is not accounted.
 */
#pragma once

#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/job/launch.h"
#include "slurmd/node/users.h"

#define RECEIVE_PER_USER 64 /* at a time, per user on this node */
#define RECEIVE_MAX 512

void receive_request(struct slurmd *d, const struct rpc_request *r);
/* The job is ready: starts the receiver and takes ownership of the launch. */
void receive_start(struct attempt *a, struct launch *l, const struct user *user);
/* The job ends: ends its receivers and calls attempt_check() */
void receive_end(struct attempt *a);
/* Whether this daemon has started the process. */
bool receive_is_ours(const struct slurmd *d, pid_t pid);
/* At the end of the daemon; the receivers continue. */
void receive_forget(struct attempt *a);
