/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cast/tree.h"

size_t cast_tree_groups(size_t count, size_t width)
{
    return count < width ? count : width;
}

struct cast_range cast_tree_group(size_t count, size_t width, size_t i)
{
    size_t groups = cast_tree_groups(count, width);
    size_t small = count / groups, larger = count % groups;

    return (struct cast_range){.first = i * small + (i < larger ? i : larger),
                               .count = small + (i < larger)};
}
