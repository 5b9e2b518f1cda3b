/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets of numbers as runs with a step, for the elements of job arrays: "0-15:4,20" is two runs,
 * whatever its length. Memory and text grow with the runs, so that a million elements in order cost
 * twelve bytes; when there are more than a thousand and bits are not much dearer, there is a bit
 * for each number instead. An operation on sets costs their runs and the words of such bits, not
 * their numbers: of four million at worst a few milliseconds. A zeroed struct is the empty set.
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

#define IDSET_AGAIN 65536u /* numbers that a text may name in excess of all that there are */

struct bitset;

struct idset_run {
    uint32_t first, last, step; /* last = first + n * step; step 1 of a single number */
};

struct idset {
    VEC32(struct idset_run) runs; /* rising, none begins before the last of the one before */
    struct bitset *bits;          /* NULL, or the numbers: there are no runs then */
    uint32_t count;               /* of numbers */
};

void idset_done(struct idset *s);
void idset_copy(struct idset *to, const struct idset *from); /* replaces what 'to' had */
void idset_move(struct idset *to, struct idset *from);       /* the same; 'from' is empty then */

/*
 * "N", "N-M", "N-M:STEP" and commas between them, of numbers below 'limit' (at most 2^31). Numbers
 * may come twice and in any order, 'limit' + IDSET_AGAIN of them in all. -ERR_PARSE says which word
 * is wrong and what is allowed; 'out' is untouched then.
 */
int idset_parse(const char *text, uint32_t limit, struct idset *out, struct err *err);
/* As parsed: "0-15:4,20"; of one that is kept as bits "0x1f", which is parsed, too. */
void idset_format(const struct idset *s, struct str *out);

bool idset_has(const struct idset *s, uint32_t number);
uint32_t idset_first(const struct idset *s); /* of a set that is not empty, as the next */
uint32_t idset_last(const struct idset *s);
/* The first number at or after 'from'; -1: none. */
int64_t idset_next(const struct idset *s, int64_t from);

/* The next run of neighbours, or of the form that it is kept in, at or after 'from'; false: none.
 */
bool idset_next_run(const struct idset *s, int64_t from, struct idset_run *out);
/* Of an operation, in words and runs. */
size_t idset_cost(const struct idset *s);

void idset_add(struct idset *s, uint32_t number);
void idset_remove(struct idset *s, uint32_t number); /* nothing when it is not in */
/* Takes out of 's' what 'wanted' has too, and puts that into 'both', which must be empty. */
void idset_split(struct idset *s, const struct idset *wanted, struct idset *both);
/* 's' is what it has in common with 'other'. */
void idset_intersect(struct idset *s, const struct idset *other);
void idset_unite(struct idset *to, const struct idset *with);

#define idset_foreach(s, number)                                                                   \
    for (int64_t number = idset_next((s), 0); number >= 0; number = idset_next((s), number + 1))
