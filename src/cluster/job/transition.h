/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A change of a job's state. job_set_state() and job_announce() emit one for each change, after the
 * change, to the observer of the cluster (control/life/transition.h has the table of its
 * subscribers). The observer may cause further transitions, of the same job, too.
 */
#pragma once

#include <stdint.h>

#include "proto/job.pb-c.h"

struct cluster;
struct job;

enum transition_cause {
#define CAUSE(id) CAUSE_##id,
#include "cluster/job/transition.def"
#undef CAUSE
};

/* Bits: a subscriber names those that it wants. */
enum transition_kind {
#define KIND(id, bit) TRANSITION_##id = 1 << (bit),
#include "cluster/job/transition.def"
#undef KIND
    TRANSITION_OVER = TRANSITION_ENDED | TRANSITION_WITHDRAWN,
    TRANSITION_ALL = 127,
};

struct transition {
    struct job *job;
    uint32_t attempt; /* 0: the first run of the job */
    enum _Pb__JobState from, to;
    enum transition_kind kind;
    enum transition_cause cause;
    const char *detail; /* for people; valid during the call; NULL: none */
    int64_t at_ms;      /* wall; by control/life/transition.c, 0 before it */
};

typedef void transition_fn(void *ctx, const struct transition *t);

struct transition_observer { /* in struct cluster; without a function nobody observes */
    transition_fn *fn;
    void *ctx;
};
