/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the list (hostlist.c) and its parser (hostlist_parse.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/vec.h"

/* Digits of a number; the prefix gets the first digits of a longer sequence. */
#define HOSTLIST_DIGITS_MAX 18

/* 'count' names from 'lo' on, all with 'width' digits; width 0: the prefix is a single name. */
struct host_range {
    char *prefix; /* owned */
    uint64_t lo;
    size_t count;
    size_t first; /* index in the list of its first name */
    unsigned width;
};

struct hostlist {
    VEC(struct host_range) ranges;
    size_t count;
};

/* Appends names that are in canonical form. */
void hostlist_push_range(struct hostlist *h, const char *prefix, size_t prefix_len, unsigned width,
                         uint64_t lo, size_t count);

/* Splits a name; returns the length of its prefix. */
size_t hostlist_split(const char *name, size_t len, unsigned *width, uint64_t *number);
