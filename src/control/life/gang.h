/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gang scheduling: jobs that share resources run in turn. sched/gang/rotation.h decides; this file
 * follows its decisions by the transitions of scontrol suspend and resume, but for one difference:
 * the units of a job that the rotation has suspended stay its own.
 *
 * Jobs of a job set take part as one member of the rotation. The start, suspension and return of
 * jobs come through struct suspend_hooks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct cluster;
struct control;

struct gang {
    uint64_t last_place;      /* in the rotation, that was given */
    int64_t switch_ms;        /* the next switch, by the monotonic clock; 0: no job waits for one */
    uint64_t taken, released; /* of the pool, when the members were last settled */
    /* With GangOverlap=no, by partition, and behind these for jobs of none, the rotation of its
     * jobs: the first partition of that rotation. */
    VEC(size_t) rotations;
    const struct cluster *cluster; /* that they belonged to: a reconfiguration makes another one */
    bool changed;                  /* the members have to be settled */
    bool ends_moved;               /* the ends of members have to be foreseen again */
};

void gang_begin(struct control *c);
void gang_end(struct control *c);
void gang_turn(struct control *c); /* of the controller: what has changed, what is due */
/* No two jobs of one slot run at once, and no job waits that could run. */
int gang_check(const struct control *c, struct err *err);
int64_t gang_due_ms(const struct control *c); /* INT64_MAX: never */
