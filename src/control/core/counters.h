/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's counters for sdiag: one for each row of proto/counter.def. Counters do not
 * affect the machine. Run times come from env.work_usec; without that clock they are 0.
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
    /* For the present scheduling pass: */
    uint64_t pass_usec, pass_looked;
    uint64_t backfill_usec, backfill_looked, backfill_tried, moments;
};

void counters_begin(struct control *c); /* also at midnight UTC: resets all SINCE_RESET counters */
void counters_turn(struct control *c);

/* Counts the examination of one job in a pass: the duration of plan_next() since 'begun_usec' of
 * counters_clock(). backfill: an earlier job of the partition waits already. tried: a search for
 * nodes was made. */
int64_t counters_clock(const struct control *c);
void counters_look(struct control *c, int64_t begun_usec, bool backfill, bool tried);
/* The pass has ended: at the end of its queues (complete), or because it restarts. */
void counters_pass(struct control *c, bool complete);

void counters_submitted(struct control *c, const struct job *j);

/* Subscribers of transitions: life/transition.def. */
void counters_take(struct control *c, const struct transition *t);
