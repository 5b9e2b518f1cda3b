/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of nodes that several jobs share (OverSubscribe=YES and FORCE). Part of the cluster. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"

struct job;
struct node;
struct part;
struct unit_use;

/* Whether the job may share a unit with the jobs that use it now. */
bool share_may(const struct unit_use *u, const struct job *j);
/* Returns the partition whose OverSubscribe limit keeps the job from the unit; NULL: the limit is
 * not the reason. */
const struct part *share_find_limit(const struct unit_use *u, const struct job *j);
/* Returns the number of units in use that the job may share, among the units with at most 'most'
 * jobs. 'use' NULL: no units are shared. */
uint32_t share_room(uint32_t units, const struct unit_use *use, const struct job *j, uint32_t most);
/* Returns the number of units that the job could share if the OverSubscribe limits were higher. */
uint32_t share_full(uint32_t units, const struct unit_use *use, const struct job *j);
/* Adds 'units' units that the job may share to 'set', units with the fewest jobs first. */
void share_choose(const struct node *n, const struct job *j, uint32_t units, struct bitset *set);
struct share_supposed {                  /* units of a node that a job is supposed to get */
    uint32_t all, free, free_restricted; /* units of the node before that */
    uint32_t units, restricted;          /* of the job; 'restricted' is part of 'units' */
};
/* Returns a copy of 'use' as if the job had these units, free ones first. 'use' NULL: no units are
 * shared yet. The caller frees it. */
struct unit_use *share_suppose(const struct unit_use *use, const struct job *j,
                               const struct share_supposed *supposed);
/* Counts one more job of the unit. Among several partitions, the unit keeps the one that lets the
 * fewest jobs share. */
void share_add_job(struct unit_use *u, const struct job *j);
void share_occupy(struct node *n, const struct job *j, const struct bitset *units);
void share_release(struct node *n, const struct bitset *units);
