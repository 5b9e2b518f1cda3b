/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which jobs form one rotation of gang scheduling, and what each of them has of its nodes. With
 * GangOverlap=yes all jobs that share are in one rotation, otherwise each partition has its own.
 * Jobs of several partitions that got the same units before GangOverlap=no was set still take
 * turns: their partitions have one rotation until these jobs have ended. Reads the records alone:
 * gang.c follows what the rotations decide.
 *
 * The components of a job set are one member, with the id of the first one that takes part.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/gang/rotation.h"

struct alloc_node;
struct control;
struct job;

/* The place in the queue of the job, or of another component of its set; 0: none. */
uint64_t gang_set_place(const struct job *j);
/* Whether the job takes part, and has not ended. */
bool gang_job_takes_part(const struct job *j);
/* Whether it has its units in the present slot. What the rotation had suspended before it ended
 * does not count: it is ending beside those whose turn it is. */
bool gang_job_has_slot(const struct job *j);
/* The same of the job's set: a component that is not configured yet belongs to the slot of the
 * others. */
bool gang_set_has_slot(const struct job *j);
/* Whether its turn is over or an operator has suspended it, so that it has no place, and the node
 * has not said that it stands still; also of a job that has ended meanwhile, until the node is
 * clean. */
bool gang_job_still_runs(const struct job *j, const struct alloc_node *a);

/* Finds out which partitions have one rotation: when the configuration has changed, and then as
 * long as partitions have one together. */
void gang_part_rotations(struct control *c);
/* Whether the rotations are those of the present partitions: false once a partition was created or
 * deleted, until gang_part_rotations() is called. */
bool gang_knows_parts(const struct control *c);
/* Whether some partitions have a rotation together, with GangOverlap=no. */
bool gang_has_joined_parts(const struct control *c);
/* Whether both jobs are of one rotation, if both share. */
bool gang_share_rotation(const struct control *c, const struct job *other, const struct job *j);
/* The rotations one after the other, by a number that begins with 0; the caller calls
 * rotation_done(). False: there are no more. */
bool gang_next_rotation(const struct control *c, size_t *number, struct rotation *r);

/* Whether the job, with all of its set, fits beside what has its units in the present slot. */
bool gang_fits_now(const struct control *c, const struct job *j);
