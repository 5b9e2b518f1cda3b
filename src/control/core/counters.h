/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the controller counts for sdiag: a row of proto/counter.def each. Counting changes nothing
 * that the machine does. Run times come from env.work_usec; without that clock they are 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cluster/job/transition.h"
#include "proto/ctl.pb-c.h"

struct control;
struct job;

struct counters {
#define COUNTER(name, kind, help) uint64_t name;
#include "proto/counter.def"
#undef COUNTER
    int64_t since_sec; /* wall time of the last reset */
    /* Of the scheduling pass that is under way: */
    uint64_t pass_usec, pass_looked;
    uint64_t backfill_usec, backfill_looked, backfill_tried, moments;
};

void counters_begin(struct control *c); /* and at midnight UTC: all SINCE_RESET are 0 */
void counters_turn(struct control *c);

/* A look at a job in a pass: what plan_next() took, from counters_clock() before it. backfill: an
 * earlier job of the partition waits already. tried: nodes were looked for. */
int64_t counters_clock(const struct control *c);
void counters_look(struct control *c, int64_t begun_usec, bool backfill, bool tried);
/* The pass is over: it came to the end of its queues, or begins anew. */
void counters_pass(struct control *c, bool complete);

void counters_submitted(struct control *c, const struct job *j);

/* Subscribers of transitions: life/transition.def. */
void counters_take(struct control *c, const struct transition *t);
