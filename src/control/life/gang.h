/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gang scheduling: jobs that share resources run in turn. sched/gang/rotation.h decides; this file
 * follows its decisions by the transitions of scontrol suspend and resume, but for one difference:
 * the units of a job that the rotation has suspended stay its own.
 *
 * Jobs of a job set take part as one member of the rotation.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct alloc_node;
struct cluster;
struct control;
struct job;

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

/* A job has started, and nothing of it has been ordered yet. It joins the rotation, and is
 * suspended when its resources are in use. A job that shares with nobody is held back. */
void gang_admit(struct control *c, struct job *j);
/* A job that was suspended in another way has its units again: whether it has to wait for its turn.
 * Then it stays suspended, as one of the rotation. */
bool gang_keeps_suspended(struct control *c, struct job *j);
/* It is to leave the rotation: a user or a preemptor suspends it. */
void gang_leave(struct control *c, struct job *j);
/* The job is expected to end at another time than before, if it runs alone. */
void gang_end_moved(struct control *c, const struct job *j);
/* A node has said that a job of the rotation has stopped there. */
void gang_stopped(struct control *c);
/* Whether the order to go on has to wait there, because a job whose turn is over still runs. With
 * CPUs that are counted, also of a job that takes CPUs from the members of a rotation. */
bool gang_holds_back(const struct control *c, const struct job *j, const struct alloc_node *a);
bool gang_may_hold_back(const struct control *c, const struct job *j); /* on any node */

void gang_begin(struct control *c);
void gang_end(struct control *c);
void gang_turn(struct control *c); /* of the controller: what has changed, what is due */
/* No two jobs of one slot run at once, and no job waits that could run. */
int gang_check(const struct control *c, struct err *err);
int64_t gang_due_ms(const struct control *c); /* INT64_MAX: never */
