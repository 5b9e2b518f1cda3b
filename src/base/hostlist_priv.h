/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the two halves of host lists: the list (hostlist.c) and its grammar
 * (hostlist_parse.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/vec.h"

#define HOSTLIST_DIGITS_MAX 18 /* of a number; longer runs of digits begin in the prefix */

/* 'count' names from 'lo' on, all of them with 'width' digits; width 0: the prefix is one name. */
struct host_range {
    char *prefix; /* owned */
    uint64_t lo;
    size_t count;
    size_t first; /* index of its first name in the list */
    unsigned width;
};

struct hostlist {
    VEC(struct host_range) ranges;
    size_t count;
};

/* Appends names that are in the one form already. */
void hostlist_push_range(struct hostlist *h, const char *prefix, size_t prefix_len, unsigned width,
                         uint64_t lo, size_t count);

/* Splits a name; returns the length of its prefix. */
size_t hostlist_split(const char *name, size_t len, unsigned *width, uint64_t *number);
