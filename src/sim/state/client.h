/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The owner of a job, and the replies that the owner has received. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/plan/plan.h"
#include "sim/plan/rng.h"

enum sim_client_state { SIM_SUBMITTING, SIM_WAITING, SIM_HOLDING, SIM_RELEASING, SIM_OVER };

/* A change that a command has confirmed. It holds until somebody requests another change. */
struct sim_claim {
    bool is_in_force;
    int64_t value;
};
enum sim_claimed {
    SIM_CLAIM_HELD,
    SIM_CLAIM_LIMIT,
    SIM_CLAIM_NICE,
    SIM_CLAIM_COMMENT,
    SIM_CLAIM_PART,
    SIM_CLAIM_FEATURES,
    SIM_CLAIM_MEMORY,
    SIM_CLAIM_BEGIN,
    SIM_CLAIM_LICENSES,
    SIM_CLAIMS
};

struct sim_client { /* the owner of one job */
    const struct sim_item *item;
    struct rng rng;
    enum sim_client_state state;
    uint64_t call, watch;      /* numbers of open requests; 0: none */
    uint32_t job_id;           /* 0: not acknowledged yet */
    uint32_t waits_for;        /* id of the job that the dependency names; 0: none */
    char depend[2 * SIM_NAME]; /* text of the dependency, repeated in each submission */
    unsigned next_step;
    bool dead, watching, refused, configuring, asked_once;
    struct sim_claim claims[SIM_CLAIMS];
    bool shrinks;               /* the job was asked to give nodes back */
    unsigned asked[SIM_CLAIMS]; /* number of requests that change it, so far */
    bool cancelled;      /* the cancellation is confirmed, and no requeue was requested since */
    int cancelled_state; /* the state on disk at that time */
    bool end_told;       /* the owner has received the final state */
    int end_state;
    unsigned requeues_asked, requeues_answered, cancels_asked;
    /* Act + 1 of the last cancellation, if every requeue had been answered before it; 0: none. */
    unsigned cancel_last;
};
