/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/idset.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/idset_bits.h"

/* Numbers or runs between checks whether the other representation is better. */
#define LOOK_EVERY 1024
#define FEW 64 /* up to this count numbers are moved one by one */

void idset_done(struct idset *s)
{
    vec_done(&s->runs);
    bitset_free(take_ptr(s->bits));
    s->count = 0;
}

void idset_copy(struct idset *to, const struct idset *from)
{
    vec_clear(&to->runs);
    bitset_free(take_ptr(to->bits));
    vec_foreach (&from->runs, r)
        vec_push(&to->runs, *r);
    to->bits = bitset_dup(from->bits);
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
    assert(r->step);
    return (r->last - r->first) / r->step + 1;
}

/* Appends after all elements; adjacent runs are joined. */
static void append_run(struct idset *s, struct idset_run r)
{
    s->count += run_count(&r);
    if (s->runs.len && vec_last(&s->runs).step == 1 && r.step == 1 &&
        vec_last(&s->runs).last + 1 == r.first)
        vec_last(&s->runs).last = r.last;
    else
        vec_push(&s->runs, r);
}

/* --- texts ------------------------------------------------------------------------------------ */

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

static int refuse_word(const char *word, uint32_t limit, struct err *err)
{
    int len = (int)strcspn(word, ",");
    return err_set(err, -ERR_PARSE,
                   "\"%.*s\": a number, FIRST-LAST or FIRST-LAST:STEP, of numbers from 0 to %u",
                   len < 40 ? len : 40, word, limit - 1);
}

/* Each run counts with all of its elements, repeated or not. */
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
    struct bitset *whole = idset_bits_parse(text, limit);
    if (whole) {
        idset_bits_give(out, whole);
        return 0;
    }
    VEC(struct idset_run) across = {0}; /* runs that are out of order */
    uint64_t named = 0;
    int rc = strlen(text) > IDSET_TEXT_MAX || !limit
                 ? err_set(err, -ERR_PARSE, "more than %u bytes", IDSET_TEXT_MAX)
                 : 0;
    for (const char *at = text, *word = at; rc == 0; word = ++at) {
        struct idset_run r = {0};
        if (!read_run(&at, limit, &r) || (*at && *at != ','))
            rc = refuse_word(word, limit, err);
        else
            rc = check_again(named += run_count(&r), limit, err);
        if (rc != 0)
            break;
        if (set.runs.len && r.first <= vec_last(&set.runs).last)
            vec_push(&across, r);
        else
            append_run(&set, r);
        if (!*at)
            break;
    }
    if (rc == 0 && across.len) {
        struct bitset *bits = bitset_new(limit);
        struct idset behind = {.runs = {across.data, (uint32_t)across.len, (uint32_t)across.room}};
        idset_bits_put(&set, bits);
        idset_bits_put(&behind, bits);
        idset_bits_give(&set, bits);
    }
    vec_done(&across);
    if (rc == 0) {
        idset_bits_settle(&set);
        idset_move(out, &set);
    }
    idset_done(&set);
    return rc;
}

static void put_number(struct str *out, char before, uint32_t n)
{
    char text[12], *at = text + sizeof text;
    do {
        *--at = (char)('0' + n % 10);
    } while (n /= 10);
    if (before)
        *--at = before;
    str_append(out, at, (size_t)(text + sizeof text - at));
}

void idset_format(const struct idset *s, struct str *out)
{
    char comma = 0;
    if (s->bits)
        idset_bits_format(s->bits, out);
    vec_foreach (&s->runs, r) {
        put_number(out, comma, r->first);
        if (r->last > r->first)
            put_number(out, '-', r->last);
        if (r->step > 1)
            put_number(out, ':', r->step);
        comma = ',';
    }
}

/* --- members ---------------------------------------------------------------------------------- */

/* Returns the first run that ends at or after the number. */
static size_t find_run(const struct idset *s, uint64_t number)
{
    return vec_lower(&s->runs, run, run->last < number);
}

bool idset_has(const struct idset *s, uint32_t number)
{
    if (s->bits)
        return number < s->bits->size && bitset_test(s->bits, number);
    size_t at = find_run(s, number);
    const struct idset_run *r = at < s->runs.len ? &s->runs.data[at] : NULL;
    return r && number >= r->first && (number - r->first) % r->step == 0;
}

uint32_t idset_first(const struct idset *s)
{
    return s->bits ? (uint32_t)bitset_next(s->bits, 0) : s->runs.data[0].first;
}

uint32_t idset_last(const struct idset *s)
{
    return s->bits ? (uint32_t)bitset_last(s->bits) : vec_last(&s->runs).last;
}

int64_t idset_next(const struct idset *s, int64_t from)
{
    if (s->bits)
        return bitset_next(s->bits, (size_t)from);
    size_t at = from > UINT32_MAX ? s->runs.len : find_run(s, (uint64_t)from);
    if (at == s->runs.len)
        return -1;
    const struct idset_run *r = &s->runs.data[at];
    assert(r);
    if (from <= r->first)
        return r->first;
    return r->first + ((from - r->first) + r->step - 1) / r->step * r->step;
}

bool idset_next_run(const struct idset *s, int64_t from, struct idset_run *out)
{
    int64_t first = idset_next(s, from);
    if (first < 0)
        return false;
    *out = (struct idset_run){(uint32_t)first, (uint32_t)first, 1};
    if (s->bits) {
        long clear = bitset_next_clear(s->bits, (size_t)first);
        out->last = (uint32_t)(clear < 0 ? s->bits->size : (size_t)clear) - 1;
    } else {
        const struct idset_run *r = &s->runs.data[find_run(s, (uint64_t)first)];
        out->last = r->last;
        out->step = out->first == r->last ? 1 : r->step;
    }
    return true;
}

size_t idset_cost(const struct idset *s)
{
    return s->bits ? s->bits->size / 64 + 1 : s->runs.len;
}

static void insert_run(struct idset *s, size_t at, struct idset_run r)
{
    vec_push(&s->runs, r);
    for (size_t i = s->runs.len - 1; i > at; i--)
        s->runs.data[i] = s->runs.data[i - 1];
    s->runs.data[at] = r;
}

static void tidy_run(struct idset_run *r)
{
    if (r->first == r->last)
        r->step = 1;
}

void idset_remove(struct idset *s, uint32_t number)
{
    if (!idset_has(s, number))
        return;
    s->count--;
    if (s->bits) {
        bitset_unset(s->bits, number);
        if (!s->count || s->count % LOOK_EVERY == 0)
            idset_bits_settle(s);
        return;
    }
    size_t at = find_run(s, number);
    struct idset_run *r = &s->runs.data[at];
    if (r->first == r->last) {
        vec_remove(&s->runs, at);
    } else if (number == r->first) {
        r->first += r->step;
        tidy_run(r);
    } else if (number == r->last) {
        r->last -= r->step;
        tidy_run(r);
    } else {
        struct idset_run behind = {number + r->step, r->last, r->step};
        r->last = number - r->step;
        tidy_run(r);
        tidy_run(&behind);
        insert_run(s, at + 1, behind);
    }
}

/* Extends an adjacent run if possible. */
static void put_before(struct idset *s, size_t at, uint32_t number)
{
    assert(at < s->runs.len && s->runs.data);
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
        insert_run(s, at, (struct idset_run){number, number, 1});
    }
}

static void unite_bits(struct idset *to, const struct idset *with)
{
    struct bitset *bits = idset_bits_for(to, with);
    idset_bits_put(to, bits);
    idset_bits_put(with, bits);
    idset_bits_give(to, bits);
}

void idset_add(struct idset *s, uint32_t number)
{
    struct idset_run r = {number, number, 1};
    struct idset one = {.runs = {&r, 1, 1}, .count = 1};
    if (idset_has(s, number))
        return;
    if (s->bits && number < s->bits->size) {
        bitset_set(s->bits, number);
        s->count++;
        return;
    }
    size_t at = find_run(s, number);
    if (s->bits || (at < s->runs.len && s->runs.data[at].first < number))
        unite_bits(s, &one); /* outside of the bits, or between the numbers of a run */
    else if (at == s->runs.len)
        append_run(s, r);
    else
        put_before(s, at, number);
    if (s->runs.len % LOOK_EVERY == 0)
        idset_bits_settle(s);
}

void idset_unite(struct idset *to, const struct idset *with)
{
    if (!to->count)
        idset_copy(to, with);
    else if (with->count > FEW)
        unite_bits(to, with);
    else
        idset_foreach(with, i) idset_add(to, (uint32_t)i);
}

static bool has_steps(const struct idset *s)
{
    vec_foreach (&s->runs, r)
        if (r->step > 1)
            return true;
    return false;
}

static bool is_few(const struct idset *s)
{
    return s->count <= FEW || s->count < idset_last(s) / 64;
}

static void intersect_bits(struct idset *s, const struct idset *other)
{
    struct bitset *mine = idset_bits_for(s, other), *others = bitset_new(mine->size);
    idset_bits_put(s, mine);
    idset_bits_put(other, others);
    bitset_and(mine, others);
    bitset_free(others);
    size_t count = bitset_count(mine);
    if (count != s->count && count == other->count)
        idset_copy(s, other);
    else if (count != s->count)
        idset_bits_give(s, take_ptr(mine));
    bitset_free(mine);
}

void idset_intersect(struct idset *s, const struct idset *other)
{
    struct idset both = {0};
    if (other->count <= FEW || is_few(s)) {
        idset_split(s, other, &both);
    } else if (s->bits || other->bits || has_steps(s) || has_steps(other)) {
        intersect_bits(s, other);
        return;
    } else {
        for (size_t i = 0, k = 0; i < s->runs.len && k < other->runs.len;) {
            const struct idset_run *x = &s->runs.data[i], *y = &other->runs.data[k];
            uint32_t first = x->first > y->first ? x->first : y->first;
            uint32_t last = x->last < y->last ? x->last : y->last;
            if (first <= last)
                append_run(&both, (struct idset_run){first, last, 1});
            if (x->last == last)
                i++;
            else
                k++;
        }
    }
    idset_move(s, &both);
}

/* Appends after all elements; three numbers at equal distances become a run. */
static void append_number(struct idset *s, uint32_t number)
{
    struct idset_run *r = s->runs.len ? &vec_last(&s->runs) : NULL,
                     *before = s->runs.len > 1 ? r - 1 : NULL;
    bool follows = r && r->last > r->first && r->last + r->step == number;
    bool third = before && r->first == r->last && before->first == before->last &&
                 r->first - before->first == number - r->first;
    if (third && number - r->first > 1) {
        before->step = number - r->first;
        before->last = number;
        s->runs.len--;
        s->count++;
    } else if (follows) {
        r->last = number;
        s->count++;
    } else {
        append_run(s, (struct idset_run){number, number, 1});
    }
}

/* For a small 'wanted'. */
static void pick_few(struct idset *s, const struct idset *wanted, struct idset *both)
{
    idset_foreach(wanted, i) if (idset_has(s, (uint32_t)i)) append_number(both, (uint32_t)i);
    idset_foreach(both, i) idset_remove(s, (uint32_t)i);
}

/* For fewer elements than there are words of bits. */
static void sort_few(struct idset *s, const struct idset *wanted, struct idset *both)
{
    struct idset rest = {0};
    idset_foreach(s, i) append_number(idset_has(wanted, (uint32_t)i) ? both : &rest, (uint32_t)i);
    idset_bits_settle(both);
    idset_bits_settle(&rest);
    idset_move(s, &rest);
}

void idset_split(struct idset *s, const struct idset *wanted, struct idset *both)
{
    if (wanted->count <= FEW) {
        pick_few(s, wanted, both);
        return;
    }
    if (is_few(s)) {
        sort_few(s, wanted, both);
        return;
    }
    struct bitset *rest = idset_bits_for(s, wanted), *common = bitset_new(rest->size);
    idset_bits_put(s, rest);
    idset_bits_put(wanted, common);
    bitset_and(common, rest);
    bitset_andnot(rest, common);
    size_t count = bitset_count(common);
    if (count == 0 || count == s->count) { /* keeps its representation */
        if (count)
            idset_move(both, s);
        bitset_free(common);
        bitset_free(rest);
    } else if (count == wanted->count) {
        idset_copy(both, wanted);
        bitset_free(common);
        idset_bits_give(s, rest);
    } else {
        idset_bits_give(both, common);
        idset_bits_give(s, rest);
    }
}
