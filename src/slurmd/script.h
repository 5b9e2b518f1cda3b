/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The site's scripts, Prolog and Epilog: as the daemon's own user, with a fixed environment plus
 * SLURM_* values, no shell around them, a session of their own, and a time limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"
#include "proto/node.pb-c.h"
#include "slurmd/slurmd.h"

#define SCRIPT_LIMIT_SEC 300 /* then SIGTERM, and SIGKILL to the session 5 s later */

/* Called once with the wait status; text says in words what went wrong, NULL when it went well. */
typedef void script_fn(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                       const char *text);

struct script_job {
    uint32_t job_id, restarts;
    const Pb__Terminate *about;
    bool is_epilog;
    const char *path;
};

/* Starts it; returns its pid, or 0 when it could not be started (done is called later all the
 * same). */
pid_t script_run(struct slurmd *d, const struct script_job *job, script_fn *done, void *ctx);

/* The environment of such a script; the caller frees the strings and the list. For tests too. */
char **script_environment(const struct slurmd *d, const struct script_job *job);
