/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/idset.h"

#include <ctype.h>
#include <string.h>

#include "base/bitset.h"

#define FEW 64 /* numbers that are moved one by one */

void idset_done(struct idset *s)
{
    vec_done(&s->runs);
    s->count = 0;
}

void idset_copy(struct idset *to, const struct idset *from)
{
    vec_clear(&to->runs);
    vec_foreach (&from->runs, r)
        vec_push(&to->runs, *r);
    to->count = from->count;
}

void idset_move(struct idset *to, struct idset *from)
{
    idset_done(to);
    *to = *from;
    *from = (struct idset){0};
}

static uint32_t run_count(const struct idset_run *r)
{
    return (r->last - r->first) / r->step + 1;
}

/* Behind all that is in; neighbours become one run. */
static void append(struct idset *s, struct idset_run r)
{
    struct idset_run *before = s->runs.len ? &vec_last(&s->runs) : NULL;
    s->count += run_count(&r);
    if (before && before->step == 1 && r.step == 1 && before->last + 1 == r.first)
        before->last = r.last;
    else
        vec_push(&s->runs, r);
}

/* --- from and to bits: for sets whose runs lie across each other --------------------------------
 */

static void to_bits(const struct idset *s, struct bitset *bits)
{
    vec_foreach (&s->runs, r) {
        if (r->step == 1)
            bitset_set_range(bits, r->first, r->last - r->first + 1);
        for (uint64_t i = r->first; r->step > 1 && i <= r->last; i += r->step)
            bitset_set(bits, i);
    }
}

/* Three numbers or more at equal distances are a run, as are neighbours. */
static struct idset_run run_at(const struct bitset *bits, size_t first)
{
    long clear = bitset_next_clear(bits, first);
    size_t end = clear < 0 ? bits->size : (size_t)clear;
    if (end - first > 1)
        return (struct idset_run){(uint32_t)first, (uint32_t)end - 1, 1};
    struct idset_run r = {(uint32_t)first, (uint32_t)first, 1};
    long second = bitset_next(bits, first + 1);
    long step = second < 0 ? 0 : second - (long)first;
    long last = (long)first;
    for (long next = second; next >= 0 && next - last == step; next = bitset_next(bits, next + 1))
        last = next;
    if (step && last > second)
        r = (struct idset_run){(uint32_t)first, (uint32_t)last, (uint32_t)step};
    return r;
}

static void from_bits(struct idset *s, const struct bitset *bits)
{
    idset_done(s);
    for (long i = bitset_next(bits, 0); i >= 0;) {
        struct idset_run r = run_at(bits, (size_t)i);
        append(s, r);
        i = bitset_next(bits, (size_t)r.last + 1);
    }
}

/* --- texts --------------------------------------------------------------------------------------
 */

static bool read_number(const char **at, uint32_t limit, uint32_t *out)
{
    uint64_t n = 0;
    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); ++*at)
        if (n < UINT32_MAX)
            n = n * 10 + (uint64_t)(**at - '0');
    *out = (uint32_t)n;
    return n < limit;
}

static bool read_run(const char **at, uint32_t limit, struct idset_run *r)
{
    r->step = 1;
    if (!read_number(at, limit, &r->first))
        return false;
    r->last = r->first;
    if (**at != '-')
        return true;
    ++*at;
    if (!read_number(at, limit, &r->last) || r->last < r->first)
        return false;
    if (**at == ':') {
        ++*at;
        if (!read_number(at, UINT32_MAX, &r->step) || r->step == 0)
            return false;
    }
    r->last -= (r->last - r->first) % r->step;
    r->step = r->first == r->last ? 1 : r->step;
    return true;
}

static int refuse(const char *word, uint32_t limit, struct err *err)
{
    int len = (int)strcspn(word, ",");
    return err_set(err, -ERR_PARSE,
                   "\"%.*s\": a number, FIRST-LAST or FIRST-LAST:STEP, of numbers from 0 to %u",
                   len < 40 ? len : 40, word, limit - 1);
}

/* Each run costs what it counts, whatever is new of it. */
static int check_again(uint64_t named, uint32_t limit, struct err *err)
{
    if (named <= (uint64_t)limit + IDSET_AGAIN)
        return 0;
    return err_set(err, -ERR_PARSE,
                   "the same numbers again and again: more than %llu named, of 0 to %u",
                   (unsigned long long)limit + IDSET_AGAIN, limit - 1);
}

int idset_parse(const char *text, uint32_t limit, struct idset *out, struct err *err)
{
    struct idset set = {0};
    VEC(struct idset_run) across = {0}; /* of runs that do not follow the ones before */
    uint64_t named = 0;
    int rc = strlen(text) > IDSET_TEXT_MAX || !limit
                 ? err_set(err, -ERR_PARSE, "more than %u bytes", IDSET_TEXT_MAX)
                 : 0;
    for (const char *at = text, *word = at; rc == 0; word = ++at) {
        struct idset_run r;
        if (!read_run(&at, limit, &r) || (*at && *at != ','))
            rc = refuse(word, limit, err);
        else
            rc = check_again(named += run_count(&r), limit, err);
        if (rc != 0)
            break;
        if (set.runs.len && r.first <= vec_last(&set.runs).last)
            vec_push(&across, r);
        else
            append(&set, r);
        if (!*at)
            break;
    }
    if (rc == 0 && across.len) {
        _cleanup_bitset_ struct bitset *bits = bitset_new(limit);
        to_bits(&set, bits);
        for (size_t i = 0; i < across.len; i++) {
            struct idset one = {.runs = {&across.data[i], 1, 1}};
            to_bits(&one, bits);
        }
        from_bits(&set, bits);
    }
    vec_done(&across);
    if (rc == 0)
        idset_move(out, &set);
    idset_done(&set);
    return rc;
}

void idset_format(const struct idset *s, struct str *out)
{
    const char *comma = "";
    vec_foreach (&s->runs, r) {
        str_printf(out, "%s%u", comma, r->first);
        if (r->last > r->first)
            str_printf(out, "-%u", r->last);
        if (r->step > 1)
            str_printf(out, ":%u", r->step);
        comma = ",";
    }
}

/* --- members ------------------------------------------------------------------------------------
 */

/* The first run that ends at or after the number. */
static size_t find_run(const struct idset *s, uint64_t number)
{
    size_t low = 0, high = s->runs.len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->runs.data[middle].last < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool idset_has(const struct idset *s, uint32_t number)
{
    size_t at = find_run(s, number);
    const struct idset_run *r = at < s->runs.len ? &s->runs.data[at] : NULL;
    return r && number >= r->first && (number - r->first) % r->step == 0;
}

uint32_t idset_first(const struct idset *s)
{
    return s->runs.data[0].first;
}

uint32_t idset_last(const struct idset *s)
{
    return vec_last(&s->runs).last;
}

int64_t idset_next(const struct idset *s, int64_t from)
{
    size_t at = from > UINT32_MAX ? s->runs.len : find_run(s, (uint64_t)from);
    if (at == s->runs.len)
        return -1;
    const struct idset_run *r = &s->runs.data[at];
    if (from <= r->first)
        return r->first;
    return r->first + ((from - r->first) + r->step - 1) / r->step * r->step;
}

static void insert(struct idset *s, size_t at, struct idset_run r)
{
    vec_push(&s->runs, r);
    for (size_t i = s->runs.len - 1; i > at; i--)
        s->runs.data[i] = s->runs.data[i - 1];
    s->runs.data[at] = r;
}

static void tidy(struct idset_run *r)
{
    if (r->first == r->last)
        r->step = 1;
}

void idset_remove(struct idset *s, uint32_t number)
{
    if (!idset_has(s, number))
        return;
    size_t at = find_run(s, number);
    struct idset_run *r = &s->runs.data[at];
    s->count--;
    if (r->first == r->last) {
        vec_remove(&s->runs, at);
    } else if (number == r->first) {
        r->first += r->step;
        tidy(r);
    } else if (number == r->last) {
        r->last -= r->step;
        tidy(r);
    } else {
        struct idset_run behind = {number + r->step, r->last, r->step};
        r->last = number - r->step;
        tidy(r);
        tidy(&behind);
        insert(s, at + 1, behind);
    }
}

static struct bitset *bits_for(const struct idset *a, const struct idset *b)
{
    uint32_t last = a->count ? idset_last(a) : 0;
    if (b->count && idset_last(b) > last)
        last = idset_last(b);
    return bitset_new((size_t)last + 1);
}

/* Runs of neighbours become longer. */
static void put_before(struct idset *s, size_t at, uint32_t number)
{
    struct idset_run *next = &s->runs.data[at], *before = at ? next - 1 : NULL;
    bool follows = before && before->step == 1 && before->last + 1 == number;
    bool precedes = next->step == 1 && number + 1 == next->first;
    s->count++;
    if (follows && precedes) {
        before->last = next->last;
        vec_remove(&s->runs, at);
    } else if (follows) {
        before->last = number;
    } else if (precedes) {
        next->first = number;
    } else {
        insert(s, at, (struct idset_run){number, number, 1});
    }
}

void idset_add(struct idset *s, uint32_t number)
{
    struct idset_run r = {number, number, 1};
    struct idset one = {.runs = {&r, 1, 1}, .count = 1};
    if (idset_has(s, number))
        return;
    size_t at = find_run(s, number);
    if (at == s->runs.len)
        append(s, r);
    else if (s->runs.data[at].first < number) /* between the numbers of a run */
        idset_unite(s, &one);
    else
        put_before(s, at, number);
}

void idset_unite(struct idset *to, const struct idset *with)
{
    _cleanup_bitset_ struct bitset *bits = bits_for(to, with);
    to_bits(to, bits);
    to_bits(with, bits);
    from_bits(to, bits);
}

static bool has_steps(const struct idset *s)
{
    vec_foreach (&s->runs, r)
        if (r->step > 1)
            return true;
    return false;
}

void idset_intersect(struct idset *s, const struct idset *other)
{
    struct idset both = {0};
    if (has_steps(s) || has_steps(other)) {
        idset_split(s, other, &both);
    } else {
        for (size_t i = 0, k = 0; i < s->runs.len && k < other->runs.len;) {
            const struct idset_run *x = &s->runs.data[i], *y = &other->runs.data[k];
            uint32_t first = x->first > y->first ? x->first : y->first;
            uint32_t last = x->last < y->last ? x->last : y->last;
            if (first <= last)
                append(&both, (struct idset_run){first, last, 1});
            if (x->last == last)
                i++;
            else
                k++;
        }
    }
    idset_move(s, &both);
}

void idset_split(struct idset *s, const struct idset *wanted, struct idset *both)
{
    if (wanted->count <= FEW) {
        idset_foreach(wanted, i)
        {
            if (!idset_has(s, (uint32_t)i))
                continue;
            append(both, (struct idset_run){(uint32_t)i, (uint32_t)i, 1});
            idset_remove(s, (uint32_t)i);
        }
        return;
    }
    _cleanup_bitset_ struct bitset *rest = bits_for(s, wanted);
    _cleanup_bitset_ struct bitset *common = bitset_new(rest->size);
    to_bits(s, rest);
    to_bits(wanted, common);
    bitset_and(common, rest);
    bitset_andnot(rest, common);
    from_bits(s, rest);
    from_bits(both, common);
}
