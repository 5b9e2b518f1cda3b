/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conversion of sets between runs and bits. The cost depends on the words of bits and the number
 * of runs, not on the number of elements. Private to idset.
 */
#pragma once

#include "base/bitset.h"
#include "base/idset.h"

/* Whether this number of runs, none of them beyond 'last', is better stored as bits. */
bool idset_bits_are_less(size_t runs, uint32_t last);
/* Also sets these bits; there is a bit for each number of 's'. */
void idset_bits_put(const struct idset *s, struct bitset *bits);
/* Returns bits that are large enough for both, for results of operations. */
struct bitset *idset_bits_for(const struct idset *a, const struct idset *b);
/* Makes 's' the set of these numbers, in the better representation. Takes ownership of the
   bits. */
void idset_bits_give(struct idset *s, struct bitset *bits);
/* Converts a set with too many runs, or with too few bits. */
void idset_bits_settle(struct idset *s);

/* Formats the bits as one number, "0x1f". */
void idset_bits_format(const struct bitset *bits, struct str *out);
/* NULL: malformed, or a number is not below 'limit'. */
struct bitset *idset_bits_parse(const char *text, uint32_t limit);
