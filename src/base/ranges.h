/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ranges of a list of numbers, "0-3,8", as configuration files name CPUs and cores:
 *
 *     ranges_foreach (list, r)
 *         bitset_set_range(set, r.first, r.last - r.first + 1);
 *
 * NULL is the empty list, and a comma may follow the last range. The loop ends before the first
 * text that is not a range of numbers up to RANGE_MAX: ranges_count() tells whether there is one.
 */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>

#define RANGE_MAX 65535

struct number_range {
    const char *at; /* in the list; NULL: there are no more ranges */
    unsigned long first, last;
    const char *rest; /* of the list, behind the range and its comma */
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

/* How many numbers the ranges have, one that is in several ranges each time; -1: something in the
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
