/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files for a job's nodes: who asks with a credential of the controller's gets a receiver, a
 * process of its own that becomes the job's user before it looks at any path, and tells where it
 * listens. The file itself does not pass through here. Like a step it waits for the job's prolog,
 * is in the job's control group, and ends with the job; unlike one it is nobody's accounting.
 */
#pragma once

#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/job/launch.h"
#include "slurmd/node/users.h"

#define RECEIVE_PER_USER 64 /* at a time, on this node */
#define RECEIVE_MAX 512

void receive_request(struct slurmd *d, const struct rpc_request *r);
/* Its job is ready. Takes the launch. */
void receive_start(struct attempt *a, struct launch *l, const struct user *user);
void receive_end(struct attempt *a); /* the job ends: so do they, and attempt_check() is called */
bool receive_is_ours(const struct slurmd *d, pid_t pid); /* one that this daemon has started */
void receive_forget(struct attempt *a);                  /* the daemon ends; they go on alone */
