/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a list of receivers is divided up: whoever feeds it takes 'width' groups of neighbours; the
 * first of a group is fed, and feeds the rest of it in the same way. Everybody who divides the same
 * list comes to the same tree, so a group whose first one is lost can be fed from above, and those
 * in it go on as they were.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define CAST_WIDTH 2 /* each further one takes its share of the sender's network, see ADR 0018 */
#define CAST_WIDTH_MAX 64
#define CAST_NODES_MAX 100000

struct cast_range {
    size_t first, count;
};

/* How many groups 'count' receivers make. */
size_t cast_tree_groups(size_t count, size_t width);
/* The i-th of them; they differ in size by one at most. */
struct cast_range cast_tree_group(size_t count, size_t width, size_t i);
