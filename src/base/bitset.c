/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/bitset.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static size_t count_words(const struct bitset *b)
{
    return (b->size + 63) / 64;
}

/* Clears the unused bits of the last word; called by every operation that could set them. */
static void mask_tail(struct bitset *b)
{
    if (b->size % 64)
        b->word[b->size / 64] &= (UINT64_C(1) << (b->size % 64)) - 1;
}

struct bitset *bitset_new(size_t size)
{
    struct bitset *b = mem_alloc(sizeof(*b) + (size / 64 + 1) * sizeof(b->word[0]));
    b->size = size;
    return b;
}

struct bitset *bitset_dup(const struct bitset *b)
{
    if (!b)
        return NULL;
    struct bitset *copy = bitset_new(b->size);
    bitset_copy(copy, b);
    return copy;
}

void bitset_free(struct bitset *b)
{
    free(b);
}

void bitset_freep(struct bitset **b)
{
    bitset_free(*b);
    *b = NULL;
}

void bitset_zero(struct bitset *b)
{
    memset(b->word, 0, count_words(b) * sizeof(b->word[0]));
}

void bitset_fill(struct bitset *b)
{
    memset(b->word, 0xff, count_words(b) * sizeof(b->word[0]));
    mask_tail(b);
}

void bitset_set_range(struct bitset *b, size_t first, size_t count)
{
    if (first >= b->size || count == 0)
        return;
    size_t last = count > b->size - first ? b->size - 1 : first + count - 1;
    uint64_t head = ~UINT64_C(0) << (first % 64);
    uint64_t tail = ~UINT64_C(0) >> (63 - last % 64);
    if (first / 64 == last / 64) {
        b->word[first / 64] |= head & tail;
        return;
    }
    b->word[first / 64] |= head;
    for (size_t i = first / 64 + 1; i < last / 64; i++)
        b->word[i] = ~UINT64_C(0);
    b->word[last / 64] |= tail;
}

void bitset_copy(struct bitset *to, const struct bitset *from)
{
    assert(to->size == from->size);
    memcpy(to->word, from->word, count_words(to) * sizeof(to->word[0]));
}

void bitset_and(struct bitset *to, const struct bitset *with)
{
    assert(to->size == with->size);
    for (size_t i = 0, n = count_words(to); i < n; i++)
        to->word[i] &= with->word[i];
}

void bitset_or(struct bitset *to, const struct bitset *with)
{
    assert(to->size == with->size);
    for (size_t i = 0, n = count_words(to); i < n; i++)
        to->word[i] |= with->word[i];
}

void bitset_andnot(struct bitset *to, const struct bitset *without)
{
    assert(to->size == without->size);
    for (size_t i = 0, n = count_words(to); i < n; i++)
        to->word[i] &= ~without->word[i];
}

size_t bitset_count(const struct bitset *b)
{
    size_t count = 0;
    for (size_t i = 0, n = count_words(b); i < n; i++)
        count += (size_t)__builtin_popcountll(b->word[i]);
    return count;
}

size_t bitset_count_and(const struct bitset *a, const struct bitset *b)
{
    assert(a->size == b->size);
    size_t count = 0;
    for (size_t i = 0, n = count_words(a); i < n; i++)
        count += (size_t)__builtin_popcountll(a->word[i] & b->word[i]);
    return count;
}

bool bitset_empty(const struct bitset *b)
{
    for (size_t i = 0, n = count_words(b); i < n; i++)
        if (b->word[i])
            return false;
    return true;
}

bool bitset_equal(const struct bitset *a, const struct bitset *b)
{
    assert(a->size == b->size);
    return memcmp(a->word, b->word, count_words(a) * sizeof(a->word[0])) == 0;
}

bool bitset_intersects(const struct bitset *a, const struct bitset *b)
{
    assert(a->size == b->size);
    for (size_t i = 0, n = count_words(a); i < n; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

bool bitset_contains(const struct bitset *a, const struct bitset *part)
{
    assert(a->size == part->size);
    for (size_t i = 0, n = count_words(a); i < n; i++)
        if (part->word[i] & ~a->word[i])
            return false;
    return true;
}

/* Returns the first bit at or after 'from' in the words XORed with 'flip'. */
static long next_bit(const struct bitset *b, size_t from, uint64_t flip)
{
    if (from >= b->size)
        return -1;
    size_t i = from / 64;
    uint64_t word = (b->word[i] ^ flip) & (~UINT64_C(0) << (from % 64));
    for (size_t n = count_words(b); !word;) {
        if (++i == n)
            return -1;
        word = b->word[i] ^ flip;
    }
    size_t bit = i * 64 + (size_t)__builtin_ctzll(word);
    return bit < b->size ? (long)bit : -1;
}

long bitset_next_far(const struct bitset *b, size_t from)
{
    return next_bit(b, from, 0);
}

long bitset_next_clear(const struct bitset *b, size_t from)
{
    return next_bit(b, from, ~UINT64_C(0));
}

long bitset_last(const struct bitset *b)
{
    for (size_t i = count_words(b); i-- > 0;)
        if (b->word[i])
            return (long)(i * 64 + 63 - (size_t)__builtin_clzll(b->word[i]));
    return -1;
}
