/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HealthCheckProgram: runs once before this node registers, then every HealthCheckInterval while
 * the node is in a state listed in HealthCheckNodeState. All nodes run it at the same wall-clock
 * time, so that parallel programs are disturbed together; with CYCLE the nodes are spread over the
 * interval. The program acts by itself, with "scontrol update"; its exit status is only logged.
 */
#pragma once

#include <stdbool.h>

#include "slurmd/node/slurmd.h"

#define HEALTH_LIMIT_SEC 60 /* time limit of the program */

/* Runs the program now, if one is configured, and calls done when it has ended; otherwise calls
   done at once. */
typedef void health_fn(struct slurmd *d);
void health_begin(struct slurmd *d, health_fn *done);
void health_rearm(struct slurmd *d); /* the configuration has changed */
void health_done(struct slurmd *d);

/* Whether HealthCheckNodeState, a comma-separated list, includes a node with this number of jobs,
 * which have 'used' of its CPUs. Whether the node is drained is not known here. */
bool health_wants(const char *states, size_t jobs, uint32_t used, uint32_t cpus);

/* Milliseconds until the next check. */
int64_t health_wait_ms(int64_t wall_ms, int64_t interval_sec, const char *states, const char *node);
