/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of nodes that several jobs have (OverSubscribe=YES and FORCE). Part of the cluster. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"

struct job;
struct node;
struct part;
struct unit_use;

/* Whether the job may have a unit that others have, besides them. */
bool share_may(const struct unit_use *u, const struct job *j);
/* The partition because of which the job may not have the unit, which as many jobs have as its
 * OverSubscribe allows; NULL: that is not why. */
const struct part *share_find_limit(const struct unit_use *u, const struct job *j);
/* Units in use, as 'use' (NULL: nobody shares) tells, that the job may have as well: of those that
 * 'most' jobs have, or fewer. */
uint32_t share_room(uint32_t units, const struct unit_use *use, const struct job *j, uint32_t most);
/* Units that the job would share if the partitions allowed more jobs on a unit. */
uint32_t share_full(uint32_t units, const struct unit_use *use, const struct job *j);
/* Adds 'units' of those to 'set', those that the fewest jobs have first. */
void share_choose(const struct node *n, const struct job *j, uint32_t units, struct bitset *set);
/* The use of a node's units if the job had 'units' of them as well, free ones first: a copy of
 * 'use'. 'use' NULL: nobody shares there yet. 'all': units of the node. The caller frees. */
struct unit_use *share_suppose(const struct unit_use *use, uint32_t all, uint32_t free_units,
                               const struct job *j, uint32_t units);
void share_occupy(struct node *n, const struct job *j, const struct bitset *units);
void share_release(struct node *n, const struct bitset *units);
