/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A change of a job's state. job_set_state() and job_announce() emit one transition after each
 * change to the observer of the cluster; the table of its subscribers is in
 * control/life/transition.h. The observer may cause further transitions, also of the same job.
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

/* Bits, so that a subscriber can name the kinds that it wants. */
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
    const char *detail; /* for messages; valid during the call; NULL: none */
    int64_t at_ms;      /* wall clock; set by control/life/transition.c, 0 before */
};

typedef void transition_fn(void *ctx, const struct transition *t);

struct transition_observer { /* in struct cluster; fn NULL: there is no observer */
    transition_fn *fn;
    void *ctx;
};
