/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets of numbers as runs with a step, for the elements of job arrays: "0-15:4,20" is two runs.
 * Memory and text length grow with the number of runs, so a million consecutive elements take
 * twelve bytes. If there are more than a thousand runs and bits are not much larger, the set has
 * one bit per number instead. The cost of a set operation depends on the number of runs and of
 * words of bits, not on the number of elements: a few milliseconds for four million elements in
 * the worst case. A zeroed struct is the empty set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#define IDSET_TEXT_MAX                                                                             \
    (32u << 20) /* bytes of a text: of four million numbers, apart from others                     \
                 */

#define IDSET_AGAIN 65536u /* number of repetitions allowed in a text, in addition to the limit */

struct bitset;

struct idset_run {
    uint32_t first, last, step; /* last = first + n * step; step is 1 for a single number */
};

struct idset {
    VEC32(struct idset_run) runs; /* ascending; no run begins before the end of the previous one */
    struct bitset *bits;          /* one bit per number, without runs; or NULL */
    uint32_t count;               /* number of elements */
};

void idset_done(struct idset *s);
void idset_copy(struct idset *to, const struct idset *from); /* replaces the content of 'to' */
void idset_move(struct idset *to, struct idset *from);       /* the same; 'from' becomes empty */

/*
 * Parses "N", "N-M", "N-M:STEP", separated by commas, with numbers below 'limit' (at most 2^31).
 * Numbers may be repeated and in any order, 'limit' + IDSET_AGAIN of them in total. -ERR_PARSE
 * names the invalid word and the allowed ones; 'out' is then unchanged.
 */
int idset_parse(const char *text, uint32_t limit, struct idset *out, struct err *err);
/* Formats as parsed: "0-15:4,20"; a set stored as bits as "0x1f", which can be parsed as well. */
void idset_format(const struct idset *s, struct str *out);

bool idset_has(const struct idset *s, uint32_t number);
uint32_t idset_first(const struct idset *s); /* of a non-empty set; also the next function */
uint32_t idset_last(const struct idset *s);
/* Returns the first number at or after 'from'; -1: none. */
int64_t idset_next(const struct idset *s, int64_t from);

/* Returns the next run of consecutive numbers, or stored run, at or after 'from'; false: none. */
bool idset_next_run(const struct idset *s, int64_t from, struct idset_run *out);
/* Returns the cost of an operation, in words and runs. */
size_t idset_cost(const struct idset *s);

void idset_add(struct idset *s, uint32_t number);
void idset_remove(struct idset *s, uint32_t number); /* no effect if it is not in the set */
/* Moves the elements that are also in 'wanted' from 's' to 'both', which must be empty. */
void idset_split(struct idset *s, const struct idset *wanted, struct idset *both);
/* Reduces 's' to the elements that are also in 'other'. */
void idset_intersect(struct idset *s, const struct idset *other);
void idset_unite(struct idset *to, const struct idset *with);

#define idset_foreach(s, number)                                                                   \
    for (int64_t number = idset_next((s), 0); number >= 0; number = idset_next((s), number + 1))
