/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits of the launches of a job and of a user on this node: messages that wait in this daemon
 * (for a prolog, or prepared and not committed), messages in shepherds whose tasks do not run yet,
 * and shepherds. A launch that would exceed a limit is refused. Batch scripts and extern steps,
 * which the controller orders, are counted and never refused.
 */
#pragma once

#include "base/err.h"
#include "proto/step.pb-c.h"
#include "slurmd/job/launch.h"

#define LAUNCH_JOB_BYTES (32u << 20)  /* of the launches of a job */
#define LAUNCH_USER_BYTES (64u << 20) /* of all jobs of a user */
#define LAUNCH_JOB_STEPS 1024         /* waiting or with a shepherd */
#define LAUNCH_USER_STEPS 4096

int launch_limits_check(const struct slurmd *d, const Pb__Cred *cred, size_t bytes,
                        struct err *err);
int launch_limits_check_args(const Pb__LaunchTasks *m, struct err *err);
/* Returns how long a prepared launch waits for its commit, given how long its preparation here
 * took; the prologs of the other nodes may still be running. */
int64_t launch_limits_commit_ms(const struct conf *c, int64_t prepared_ms);
