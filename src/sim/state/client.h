/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The owner of a job, and what he was told of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/plan/plan.h"
#include "sim/plan/rng.h"

enum sim_client_state { SIM_SUBMITTING, SIM_WAITING, SIM_HOLDING, SIM_RELEASING, SIM_OVER };

/* What a command was told is so. It holds until somebody asks for something else. */
struct sim_claim {
    bool made;
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
    uint64_t call, watch;      /* open requests, 0: none */
    uint32_t job_id;           /* acknowledged; 0: not yet */
    uint32_t waits_for;        /* by its dependency; 0: nothing */
    char depend[2 * SIM_NAME]; /* as it is said, each time */
    unsigned next_step;
    bool dead, watching, refused, configuring, asked_once;
    struct sim_claim claims[SIM_CLAIMS];
    bool shrinks;               /* it was to give nodes back */
    unsigned asked[SIM_CLAIMS]; /* requests that touch it, so far */
    bool cancelled;             /* told that it is; until a requeue is asked for */
    int cancelled_state;        /* on disk, then */
    bool end_told;              /* the owner was told how it ended */
    int end_state;
    unsigned requeues_asked, requeues_answered, cancels_asked;
    unsigned cancel_last; /* act + 1: every requeue was answered before it was asked; 0: none is */
};
