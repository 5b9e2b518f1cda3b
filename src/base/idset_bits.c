/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/idset_bits.h"

#include <string.h>

#define LEAST 1024 /* this number of runs is always acceptable */
#define DEARER 4   /* bits may take up to this multiple of the runs' memory */

/* --- numbers at equal distances, a word at a time --------------------------------------------- */

struct comb { /* the numbers first + n * step, for steps up to 64, as bits of successive words */
    uint64_t teeth;
    uint32_t step, at, shift; /* 'at': position of the first one in the present word */
};

static struct comb comb_from(uint32_t first, uint32_t step)
{
    struct comb c = {.step = step, .at = first % 64 % step, .shift = 64 % step};
    for (uint32_t i = 0; i < 64; i += step)
        c.teeth |= UINT64_C(1) << i;
    return c;
}

static uint64_t comb_word(const struct comb *c)
{
    return c->teeth << c->at;
}

static void comb_next(struct comb *c)
{
    c->at = c->at < c->shift ? c->at + c->step - c->shift : c->at - c->shift;
}

static uint64_t from_bit(uint32_t number)
{
    return ~UINT64_C(0) << number % 64;
}

static uint64_t to_bit(uint32_t number)
{
    return ~UINT64_C(0) >> (63 - number % 64);
}

static void set_comb(struct bitset *bits, const struct idset_run *r)
{
    struct comb c = comb_from(r->first, r->step);
    for (size_t w = r->first / 64; w <= r->last / 64; w++, comb_next(&c)) {
        uint64_t word = comb_word(&c);
        word &= w == r->first / 64 ? from_bit(r->first) : ~UINT64_C(0);
        word &= w == r->last / 64 ? to_bit(r->last) : ~UINT64_C(0);
        bits->word[w] |= word;
    }
}

/* Returns the last number of the run that begins like this, up to the first deviating bit. */
static uint32_t comb_end(const struct bitset *bits, uint32_t first, uint32_t step)
{
    struct comb c = comb_from(first, step);
    size_t words = (bits->size + 63) / 64, end = words * 64;
    for (size_t w = first / 64; w < words && end == words * 64; w++, comb_next(&c)) {
        uint64_t differ = bits->word[w] ^ comb_word(&c);
        differ &= w == first / 64 ? from_bit(first) : ~UINT64_C(0);
        if (differ)
            end = w * 64 + (size_t)__builtin_ctzll(differ);
    }
    return first + (uint32_t)(end - 1 - first) / step * step;
}

/* The same for numbers far apart. */
static uint32_t find_far_end(const struct bitset *bits, uint32_t first, uint32_t step)
{
    long last = first;
    for (long next; (next = bitset_next(bits, (size_t)last + 1)) == last + (long)step;)
        last = next;
    return (uint32_t)last;
}

/* --- conversion ------------------------------------------------------------------------------- */

bool idset_bits_are_less(size_t runs, uint32_t last)
{
    return runs > LEAST && last / 8 < runs * sizeof(struct idset_run) * DEARER;
}

void idset_bits_put(const struct idset *s, struct bitset *bits)
{
    size_t words = s->bits ? (s->bits->size + 63) / 64 : 0;
    for (size_t w = 0; w < words; w++)
        bits->word[w] |= s->bits->word[w];
    vec_foreach (&s->runs, r) {
        if (r->step == 1)
            bitset_set_range(bits, r->first, r->last - r->first + 1);
        else if (r->step <= 64)
            set_comb(bits, r);
        for (uint64_t i = r->first; r->step > 64 && i <= r->last; i += r->step)
            bitset_set(bits, i);
    }
}

struct bitset *idset_bits_for(const struct idset *a, const struct idset *b)
{
    uint32_t last = a->count ? idset_last(a) : 0;
    if (b->count && idset_last(b) > last)
        last = idset_last(b);
    return bitset_new((size_t)last + 1);
}

/* Three or more numbers at equal distances form a run, as do adjacent numbers. */
static struct idset_run run_at(const struct bitset *bits, uint32_t first)
{
    long clear = bitset_next_clear(bits, first);
    uint32_t end = (uint32_t)(clear < 0 ? bits->size : (size_t)clear);
    if (end - first > 1)
        return (struct idset_run){first, end - 1, 1};
    long second = bitset_next(bits, first + 1);
    if (second < 0)
        return (struct idset_run){first, first, 1};
    uint32_t step = (uint32_t)second - first;
    uint32_t last = step <= 64 ? comb_end(bits, first, step) : find_far_end(bits, first, step);
    if (last <= (uint32_t)second)
        return (struct idset_run){first, first, 1};
    return (struct idset_run){first, last, step};
}

/* False: there are too many runs. */
static bool read_runs(struct idset *s, const struct bitset *bits, uint32_t last)
{
    for (long i = bitset_next(bits, 0); i >= 0;) {
        struct idset_run r = run_at(bits, (uint32_t)i);
        if (idset_bits_are_less(s->runs.len + 1, last))
            return false;
        vec_push(&s->runs, r);
        s->count += (r.last - r.first) / r.step + 1;
        i = bitset_next(bits, (size_t)r.last + 1);
    }
    return true;
}

void idset_bits_give(struct idset *s, struct bitset *bits)
{
    struct idset set = {0};
    long last = bitset_last(bits);
    if (last >= 0 && !read_runs(&set, bits, (uint32_t)last)) {
        idset_done(&set);
        set.bits = bitset_new((size_t)last + 1);
        memcpy(set.bits->word, bits->word, ((size_t)last / 64 + 1) * sizeof bits->word[0]);
        set.count = (uint32_t)bitset_count(bits);
    }
    bitset_free(bits);
    idset_move(s, &set);
}

void idset_bits_settle(struct idset *s)
{
    if (!s->count) {
        idset_done(s);
    } else if (s->bits ? !idset_bits_are_less((size_t)s->count * 2, idset_last(s))
                       : idset_bits_are_less(s->runs.len, idset_last(s))) {
        struct bitset *bits = bitset_new((size_t)idset_last(s) + 1);
        idset_bits_put(s, bits);
        idset_bits_give(s, bits);
    }
}

/* --- texts ------------------------------------------------------------------------------------ */

void idset_bits_format(const struct bitset *bits, struct str *out)
{
    static const char digits[] = "0123456789abcdef";
    long last = bitset_last(bits);
    size_t words = last < 0 ? 0 : (size_t)last / 64 + 1;
    char text[16];
    str_reserve(out, 2 + words * sizeof text);
    str_puts(out, words ? "0x" : "0x0");
    for (size_t w = words; w-- > 0;) {
        size_t skip = w == (size_t)last / 64 ? 15 - (size_t)last % 64 / 4 : 0;
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = digits[bits->word[w] >> (60 - i * 4) & 15];
        str_append(out, text + skip, sizeof text - skip);
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct bitset *idset_bits_parse(const char *text, uint32_t limit)
{
    size_t len = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdef") : 0;
    if (!len || text[2 + len] || len / 16 > limit / 64)
        return NULL;
    struct bitset *bits = bitset_new(len * 4);
    for (size_t i = 0; i < len; i++)
        bits->word[i / 16] |= (uint64_t)hex_digit(text[2 + len - 1 - i]) << (i % 16 * 4);
    if (bitset_last(bits) >= (long)limit)
        bitset_free(take_ptr(bits));
    return bits;
}
