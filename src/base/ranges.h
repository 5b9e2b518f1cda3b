/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Iterates over the ranges of a list of numbers, "0-3,8", the format of CPUs and cores in
 * configuration files:
 *
 *     ranges_foreach (list, r)
 *         bitset_set_range(set, r.first, r.last - r.first + 1);
 *
 * NULL is the empty list, and a comma may follow the last range. The loop ends at the first text
 * that is not a range of numbers up to RANGE_MAX; ranges_count() detects such text.
 */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>

#define RANGE_MAX 65535

struct number_range {
    const char *at; /* position in the list; NULL: there are no more ranges */
    unsigned long first, last;
    const char *rest; /* the rest of the list after the range and its comma */
};

static inline struct number_range range_first(const char *list)
{
    char *end;
    if (!list || !isdigit((unsigned char)*list))
        return (struct number_range){0};
    struct number_range r = {.at = list, .first = strtoul(list, &end, 10)};
    r.last = r.first;
    if (*end == '-' && isdigit((unsigned char)end[1]))
        r.last = strtoul(end + 1, &end, 10);
    if (r.last < r.first || r.last > RANGE_MAX || (*end && *end != ','))
        return (struct number_range){0};
    r.rest = end + (*end == ',');
    return r;
}

#define ranges_foreach(list, r)                                                                    \
    for (struct number_range r = range_first(list); r.at; r = range_first(r.rest))

/* Returns the total number of elements of the ranges, counting repeated ones; -1: a part of the
 * list is not a range. */
static inline long ranges_count(const char *list)
{
    long count = 0;
    const char *rest = list;
    ranges_foreach (list, r) {
        count += (long)(r.last - r.first + 1);
        rest = r.rest;
    }
    return rest && *rest ? -1 : count;
}
