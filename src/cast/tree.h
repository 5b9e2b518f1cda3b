/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Divides a list of receivers: the sender takes 'width' groups of neighbours; it sends to the
 * first of each group, which serves the rest of the group in the same way. Every node that divides
 * the same list gets the same tree, so a group whose first receiver is lost can be served from
 * above, and its other receivers continue unchanged.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define CAST_WIDTH                                                                                 \
    2 /* each further child takes its share of the sender's network, see ADR 0018                  \
       */
#define CAST_WIDTH_MAX 64
#define CAST_NODES_MAX 100000

struct cast_range {
    size_t first, count;
};

/* Returns the number of groups of 'count' receivers. */
size_t cast_tree_groups(size_t count, size_t width);
/* Returns the i-th group; the sizes differ by at most one. */
struct cast_range cast_tree_group(size_t count, size_t width, size_t i);
