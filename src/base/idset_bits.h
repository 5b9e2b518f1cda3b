/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets of numbers between their two forms: as runs, and as a bit for each number. Both ways cost
 * the words of the bits and the runs that there are, however many numbers those have. Part of
 * idset.
 */
#pragma once

#include "base/bitset.h"
#include "base/idset.h"

/* Whether so many runs, none of them beyond 'last', are kept as bits. */
bool idset_bits_are_less(size_t runs, uint32_t last);
/* Sets these bits, too; there is one for each number of 's'. */
void idset_bits_put(const struct idset *s, struct bitset *bits);
/* Those of both, for results of the two. */
struct bitset *idset_bits_for(const struct idset *a, const struct idset *b);
/* 's' has these numbers, and no others, in the form that suits them. The bits are taken. */
void idset_bits_give(struct idset *s, struct bitset *bits);
/* A set whose runs have become too many, or whose bits too few. */
void idset_bits_settle(struct idset *s);

/* "0x1f": the bits as one number. */
void idset_bits_format(const struct bitset *bits, struct str *out);
/* NULL: it is no such text, or has numbers from 'limit' on. */
struct bitset *idset_bits_parse(const char *text, uint32_t limit);
