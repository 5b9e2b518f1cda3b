/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One simulated cluster: control/ unchanged, under a virtual clock, with virtual nodes, commands, a
 * store that commits late, and faults. Everything that happens is an event in one queue, ordered by
 * (time, number). All random numbers come from the plan and its seed. So a plan determines its run,
 * and 'trace' is the same number for the same plan.
 *
 *   plan/           what will happen: the cluster, its jobs, the commands, the faults
 *   state/          time and the event queue; look-ups; the contents of records
 *   rule/           the promises: what may never happen and what must happen; rules only observe
 *   command/        owners of jobs, steps, and administrators: their requests and the replies
 *   node/           what a node daemon and its step daemons do
 *   controller/     the process around control/: its env, commits, crashes and restarts, its
 *                   configurations and scripts, and the choice of the leader
 *   world/          a run: its events, its faults, and the smallest plan that breaks a promise
 *
 * Each directory calls only those above it. Data flows the other way as an event or through a
 * pointer in the state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/plan/plan.h"

struct sim_options {
    bool verbose;
    unsigned check_every; /* turns between full checks; 0: derived from the size of the world */
};

struct sim_result {
    uint64_t trace; /* hash of all messages and record changes, in order */
    uint64_t events, turns;
    unsigned jobs, acknowledged, refused, ended, attempts, steps, acts, restarts, crashes, reboots,
        kills, breaks, others, takes, shrinks;
    unsigned sets, set_starts; /* job sets that were acknowledged, and that started */
    unsigned torus_checks;     /* starts whose nodes were compared with the torus placements */
    unsigned resv_gres_checks; /* starts on a node of which a reservation keeps devices */
    int64_t virtual_ms;
    const char *promise; /* the broken promise; the same text for the same kind */
};

/* One run. Returns 0, or -ERR_INTERNAL with the first broken promise in err (the text names the job
 * and the virtual time). */
int sim_run(const struct sim_plan *plan, const struct sim_options *options,
            struct sim_result *result, struct err *err);

/* Shrinks a plan that breaks a promise to a smaller one that breaks the same promise, with at most
 * 'most_runs' runs. */
void sim_minimise(struct sim_plan *plan, unsigned most_runs);
