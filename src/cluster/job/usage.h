/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What processes used: several parts (nodes of a step, steps of a job) as one. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "proto/common.pb-c.h"

/* Adds a part: sums add up, high-water marks compare. 'node': who says it, for its marks that name
 * none; NULL: not known. New memory is the arena's; texts of 'more' are borrowed. */
void usage_merge(Pb__Usage *into, const Pb__Usage *more, const char *node, struct arena *arena);

/* The same on packed bytes (empty: nothing so far); without 'marks' the tasks' are left out. */
void usage_merge_packed(struct str *packed, const Pb__Usage *more, const char *node, bool marks);
