/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets of small numbers (nodes, cores) as bits. A set has a fixed size; operations on two sets
 * require equal sizes. Bits beyond the size are always zero, so that counting needs no mask.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bitset {
    size_t size; /* number of bits */
    uint64_t word[];
};

struct bitset *bitset_new(size_t size); /* all zero; free with bitset_free() */
struct bitset *bitset_dup(const struct bitset *b);
void bitset_free(struct bitset *b);
void bitset_freep(struct bitset **b);
#define _cleanup_bitset_ __attribute__((cleanup(bitset_freep)))

static inline bool bitset_test(const struct bitset *b, size_t i)
{
    return b->word[i / 64] >> (i % 64) & 1;
}
static inline void bitset_set(struct bitset *b, size_t i)
{
    b->word[i / 64] |= UINT64_C(1) << (i % 64);
}
static inline void bitset_unset(struct bitset *b, size_t i)
{
    b->word[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

void bitset_zero(struct bitset *b);
void bitset_fill(struct bitset *b);
void bitset_set_range(struct bitset *b, size_t first, size_t count);
void bitset_copy(struct bitset *to, const struct bitset *from);
void bitset_and(struct bitset *to, const struct bitset *with);
void bitset_or(struct bitset *to, const struct bitset *with);
void bitset_andnot(struct bitset *to, const struct bitset *without);
size_t bitset_count(const struct bitset *b);
size_t bitset_count_and(const struct bitset *a, const struct bitset *b);
bool bitset_empty(const struct bitset *b);
bool bitset_equal(const struct bitset *a, const struct bitset *b);
bool bitset_intersects(const struct bitset *a, const struct bitset *b);
bool bitset_contains(const struct bitset *a, const struct bitset *part);

/* The first set (clear) bit at or after 'from', or -1. */
long bitset_next_far(const struct bitset *b, size_t from); /* same result as bitset_next */
long bitset_next_clear(const struct bitset *b, size_t from);
long bitset_last(const struct bitset *b); /* the last set bit, or -1 */
static inline long bitset_next(const struct bitset *b, size_t from)
{
    uint64_t word = from < b->size ? b->word[from / 64] >> (from % 64) : 0;
    return word ? (long)from + __builtin_ctzll(word) : bitset_next_far(b, from);
}

/* Iterates over the set bits in ascending order; the loop may set and unset bits. */
#define bitset_foreach(b, i)                                                                       \
    for (long i = bitset_next((b), 0); i >= 0; i = bitset_next((b), (size_t)i + 1))
