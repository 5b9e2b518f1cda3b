/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HealthCheckProgram: once before this node registers, then every HealthCheckInterval while the
 * node is in a state that HealthCheckNodeState names. At the same moment of the wall clock on all
 * nodes, so that parallel programs are disturbed together; with CYCLE spread over the interval. It
 * acts by itself, "scontrol update" being its means: its exit status is logged and changes nothing.
 */
#pragma once

#include <stdbool.h>

#include "slurmd/node/slurmd.h"

#define HEALTH_LIMIT_SEC 60 /* then it is ended */

/* Runs it now, if there is one, and calls done when it has ended, else at once. */
typedef void health_fn(struct slurmd *d);
void health_begin(struct slurmd *d, health_fn *done);
void health_rearm(struct slurmd *d); /* the configuration has changed */
void health_done(struct slurmd *d);

/* Whether HealthCheckNodeState, a comma list, names a node with so many jobs, which were given
 * 'used' of its CPUs. Whether the node is drained is not known here. */
bool health_wants(const char *states, size_t jobs, uint32_t used, uint32_t cpus);

/* Milliseconds until the next check. */
int64_t health_wait_ms(int64_t wall_ms, int64_t interval_sec, const char *states, const char *node);
