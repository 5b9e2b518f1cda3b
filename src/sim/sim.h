/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One simulated cluster: control/ unchanged, under a virtual clock, with virtual nodes, commands, a
 * store that commits late, and faults. Everything that happens is an event of one queue, ordered by
 * (time, number); everything drawn by chance comes from the plan and its seed. So a run is its
 * plan, and 'trace' is the same number for the same plan.
 *
 *   plan/           what is to happen: the cluster, its jobs, the commands, the faults
 *   state/          time and the queue of events; what is looked up; what records say
 *   rule/           the promises: what may never happen, and what must; no rule acts
 *   command/        owners of jobs, steps, and what administrators do: requests and their replies
 *   node/           what a node daemon and its shepherds do
 *   controller/     the process around control/: its env, commits, crashes and restarts, the
 *                   configurations that it reads, its scripts, and which of several leads
 *   world/          a run: its events, what breaks, and the smallest plan that breaks a promise
 *
 * Each calls only those above it. What goes the other way is an event, or a pointer in the state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/plan/plan.h"

struct sim_options {
    bool verbose;
    unsigned check_every; /* turns between looks at everything; 0: by the size of the world */
};

struct sim_result {
    uint64_t trace; /* hash of every message and record change, in order */
    uint64_t events, turns;
    unsigned jobs, acknowledged, refused, ended, attempts, steps, acts, restarts, crashes, reboots,
        kills, breaks, others, takes, shrinks;
    unsigned sets, set_starts; /* job sets: acknowledged, and begun */
    unsigned torus_checks;     /* starts whose nodes were compared with the placements of toruses */
    unsigned resv_gres_checks; /* starts beside devices that a reservation keeps on the same node */
    int64_t virtual_ms;
    const char *promise; /* that was broken; the same text for the same kind */
};

/* One run. 0, or -ERR_INTERNAL with the first broken promise in err (the text names job and virtual
 * time). */
int sim_run(const struct sim_plan *plan, const struct sim_options *options,
            struct sim_result *result, struct err *err);

/* Shrinks a plan that breaks a promise to one that still breaks the same, with at most so many
 * runs. */
void sim_minimise(struct sim_plan *plan, unsigned most_runs);
