/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/idset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bitset.h"
#include "base/test_drawn.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LIMIT 200

static void invalid_id_lists_are_refused(void **state)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"", "\"\""},           {",", "\"\""},
        {"1,", "\"\""},         {"1,,2", "\"\""},
        {"a", "\"a\""},         {"1-", "\"1-\""},
        {"-1", "\"-1\""},       {"2-1", "\"2-1\""},
        {"1-2:0", "\"1-2:0\""}, {"1-2:", "\"1-2:\""},
        {"1:2", "\"1:2\""},     {"1 ,2", "\"1 \""},
        {"200", "\"200\""},     {"0-200", "\"0-200\""},
        {"0-0x", "\"0-0x\""},   {"18446744073709551616", "\"18446744073709551616\""},
        {"4294967296", "96\""}, {"1%2", "\"1%2\""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        struct idset s = {0};
        s.count = 4711;
        assert_int_equal(idset_parse(rows[i].text, LIMIT, &s, &err), -ERR_PARSE);
        assert_non_null(strstr(err.text, rows[i].word));
        assert_non_null(strstr(err.text, "from 0 to 199"));
        assert_int_equal(s.count, 4711);
    }
    char *lots = mem_alloc(IDSET_TEXT_MAX + 2);
    memset(lots, '1', IDSET_TEXT_MAX + 1);
    lots[IDSET_TEXT_MAX + 1] = 0;
    struct idset s = {0};
    struct err err = {0};
    assert_int_equal(idset_parse(lots, LIMIT, &s, &err), -ERR_PARSE);
    assert_non_null(strstr(err.text, "33554432"));
    free(lots);
}

static void id_lists_are_parsed_and_formatted(void **state)
{
    static const struct {
        const char *text, *formatted;
        uint32_t count;
    } rows[] = {
        {"0", "0", 1},
        {"7-7", "7", 1},
        {"7-9:100", "7", 1},
        {"0-199", "0-199", 200},
        {"0-15:4,20", "0-12:4,20", 5},
        {"1,2,3", "1-3", 3},
        {"3,2,1", "1-3", 3},
        {"5-6", "5-6", 2},
        {"1-10,5,5-12", "1-12", 12},
        {"0-100:2,1-101:2", "0-101", 102},
        {"0-8:4,2-10:4", "0-10:2", 6},
        {"9,5,1", "1-9:4", 3},
        {"9,1", "1,9", 2},
        {"0-10:5,10-20:5", "0-20:5", 5},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct idset s = {0};
        struct str out = STR_INIT;
        assert_int_equal(idset_parse(rows[i].text, LIMIT, &s, NULL), 0);
        idset_format(&s, &out);
        assert_string_equal(str_cstr(&out), rows[i].formatted);
        assert_int_equal(s.count, rows[i].count);
        str_done(&out);
        idset_done(&s);
    }
}

/* A short text must not cost as much as one set per word. */
static void repeated_ids_in_a_text_are_bounded(void **state)
{
    struct str text = STR_INIT;
    struct idset s = {0};
    struct err err = {0};
    str_puts(&text, "0-199");
    for (uint32_t named = LIMIT; named + 100 <= LIMIT + IDSET_AGAIN; named += 100)
        str_puts(&text, ",0-198:2");
    assert_int_equal(idset_parse(str_cstr(&text), LIMIT, &s, &err), 0);
    assert_int_equal(s.count, LIMIT);
    idset_done(&s);
    str_puts(&text, ",0-198:2");
    assert_int_equal(idset_parse(str_cstr(&text), LIMIT, &s, &err), -ERR_PARSE);
    assert_string_equal(err.text, "the same numbers again and again: more than 65736 named, of 0 "
                                  "to 199");
    assert_int_equal(s.count, 0);
    str_done(&text);
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

static void agrees(const struct idset *s, const struct bitset *bits)
{
    struct str out = STR_INIT;
    struct idset again = {0};
    assert_int_equal(s->count, bitset_count(bits));
    for (uint32_t i = 0; i < LIMIT; i++) {
        assert_int_equal(idset_has(s, i), bitset_test(bits, i));
        assert_int_equal(idset_next(s, i), bitset_next(bits, i));
    }
    assert_false(idset_has(s, LIMIT));
    assert_int_equal(idset_next(s, INT64_MAX), -1);
    if (!s->count)
        return;
    assert_int_equal(idset_first(s), bitset_next(bits, 0));
    assert_int_equal(idset_next(s, idset_last(s)), idset_last(s));
    assert_int_equal(idset_next(s, (int64_t)idset_last(s) + 1), -1);
    idset_format(s, &out);
    assert_int_equal(idset_parse(str_cstr(&out), LIMIT, &again, NULL), 0);
    assert_int_equal(again.count, s->count);
    idset_foreach(&again, i) assert_true(bitset_test(bits, (size_t)i));
    idset_done(&again);
    str_done(&out);
}

/* Runs as a user might write them. */
static void draw_set(uint32_t *seed, struct idset *s, struct bitset *bits)
{
    struct str text = STR_INIT;
    for (uint32_t n = 1 + draw(seed, 5); n-- > 0;) {
        uint32_t first = draw(seed, LIMIT), last = first + draw(seed, LIMIT - first),
                 step = draw(seed, 2) ? 1 : 1 + draw(seed, 7);
        str_printf(&text, "%s%u-%u:%u", text.len ? "," : "", first, last, step);
        for (uint32_t i = first; i <= last; i += step)
            bitset_set(bits, i);
    }
    assert_int_equal(idset_parse(str_cstr(&text), LIMIT, s, NULL), 0);
    str_done(&text);
}

static void operations_agree_with_a_bitset(void **state)
{
    uint32_t seed = 1;
    for (int round = 0; round < TEST_DRAWN(3000); round++) {
        struct idset a = {0}, b = {0}, both = {0};
        struct bitset *x = bitset_new(LIMIT), *y = bitset_new(LIMIT), *common;
        draw_set(&seed, &a, x);
        draw_set(&seed, &b, y);
        agrees(&a, x);
        for (int n = 0; n < 8; n++) {
            uint32_t i = draw(&seed, LIMIT);
            if (draw(&seed, 2)) {
                idset_remove(&a, i);
                bitset_unset(x, i);
            } else {
                idset_add(&a, i);
                bitset_set(x, i);
            }
            agrees(&a, x);
        }
        common = bitset_dup(x);
        bitset_and(common, y);
        idset_copy(&both, &a);
        idset_intersect(&both, &b);
        agrees(&both, common);
        idset_copy(&both, &b);
        idset_intersect(&both, &a);
        agrees(&both, common);
        idset_done(&both);
        idset_split(&a, &b, &both);
        agrees(&both, common);
        idset_unite(&b, &both);
        agrees(&b, y);
        bitset_andnot(x, common);
        agrees(&a, x);
        idset_copy(&both, &a);
        agrees(&both, x);
        idset_done(&a);
        idset_done(&b);
        idset_done(&both);
        bitset_free(x);
        bitset_free(y);
        bitset_free(common);
    }
}

enum { WIDE = 60000 };

static void assert_equals_wide_bitset(const struct idset *s, const struct bitset *bits)
{
    struct idset again = {0};
    struct idset_run run;
    struct str out = STR_INIT;
    uint32_t seen = 0;
    assert_int_equal(s->count, bitset_count(bits));
    for (int64_t from = 0; idset_next_run(s, from, &run); from = (int64_t)run.last + 1)
        for (uint32_t i = run.first; i <= run.last; i += run.step, seen++)
            assert_true(bitset_test(bits, i) && idset_has(s, i));
    assert_int_equal(seen, s->count);
    if (!s->count)
        return;
    assert_int_equal(idset_first(s), bitset_next(bits, 0));
    assert_int_equal(idset_last(s), bitset_last(bits));
    assert_int_equal(idset_next(s, (int64_t)idset_last(s) + 1), -1);
    idset_format(s, &out);
    assert_int_equal(idset_parse(str_cstr(&out), WIDE, &again, NULL), 0);
    assert_int_equal(again.count, s->count);
    idset_foreach(&again, i) assert_true(bitset_test(bits, (size_t)i));
    idset_done(&again);
    str_done(&out);
}

/* A set of one in 'of' numbers, and some runs with a step. */
static void draw_wide(uint32_t *seed, uint32_t of, struct idset *s, struct bitset *bits)
{
    for (uint32_t i = 0; i < WIDE; i++)
        if (draw(seed, of) == 0) {
            bitset_set(bits, i);
            idset_add(s, i);
        }
    for (uint32_t n = draw(seed, 3); n-- > 0;) {
        struct idset more = {0};
        char text[40];
        uint32_t first = draw(seed, WIDE), last = first + draw(seed, WIDE - first),
                 step = 1 + draw(seed, 90);
        snprintf(text, sizeof text, "%u-%u:%u", first, last, step);
        assert_int_equal(idset_parse(text, WIDE, &more, NULL), 0);
        idset_unite(s, &more);
        for (uint32_t i = first; i <= last; i += step)
            bitset_set(bits, i);
        idset_done(&more);
    }
}

static void operations_on_many_runs_agree_with_a_bitset(void **state)
{
    static const uint32_t one_of[] = {2, 3, 20, 1000, 1};
    uint32_t seed = 7, bits = 0;
    for (int round = 0; round < 10; round++) {
        struct idset a = {0}, b = {0}, both = {0};
        struct bitset *x = bitset_new(WIDE), *y = bitset_new(WIDE), *common;
        draw_wide(&seed, one_of[round % 5], &a, x);
        draw_wide(&seed, one_of[round % 4], &b, y);
        assert_equals_wide_bitset(&a, x);
        assert_equals_wide_bitset(&b, y);
        bits += a.bits != NULL;
        common = bitset_dup(x);
        bitset_and(common, y);
        idset_copy(&both, &a);
        idset_intersect(&both, &b);
        assert_equals_wide_bitset(&both, common);
        idset_done(&both);
        idset_split(&a, &b, &both);
        assert_equals_wide_bitset(&both, common);
        bitset_andnot(x, common);
        assert_equals_wide_bitset(&a, x);
        idset_unite(&a, &both);
        bitset_or(x, common);
        assert_equals_wide_bitset(&a, x);
        for (uint32_t i = 0; a.count; i++) { /* from the front, as elements start */
            idset_remove(&a, i);
            bitset_unset(x, i);
            if (i % 10000 == 0)
                assert_equals_wide_bitset(&a, x);
        }
        assert_null(a.bits);
        idset_done(&a);
        idset_done(&b);
        idset_done(&both);
        bitset_free(x);
        bitset_free(y);
        bitset_free(common);
    }
    assert_true(bits > 2);
}

/* Every third of four million numbers is removed: the rest is stored as bits, and after another
 * third it is a run. */
static void four_million_ids_are_split_into_pieces(void **state)
{
    struct idset s = {0}, third = {0}, both = {0};
    struct str text = STR_INIT;
    assert_int_equal(idset_parse("0-3999998", 4000001, &s, NULL), 0);
    assert_int_equal(idset_parse("0-3999998:3", 4000001, &third, NULL), 0);
    idset_split(&s, &third, &both);
    assert_int_equal(both.runs.len, 1);
    assert_int_equal(s.count, 2666666);
    assert_in_range(idset_cost(&s), 1, 62501);
    idset_format(&s, &text);
    assert_in_range(text.len, 1, 1000003);
    idset_done(&third);
    idset_done(&both);
    assert_int_equal(idset_parse("1-3999998:3", 4000001, &third, NULL), 0);
    idset_split(&s, &third, &both);
    assert_int_equal(both.runs.len, 1);
    assert_int_equal(s.runs.len, 1);
    assert_int_equal(idset_last(&s), 3999998);
    idset_done(&s);
    assert_int_equal(idset_parse("0x12", 6, &s, NULL), 0);
    assert_true(s.count == 2 && idset_has(&s, 1) && idset_has(&s, 4) && s.runs.len == 2);
    assert_int_equal(idset_parse("0x40", 6, &s, NULL), -ERR_PARSE);
    assert_int_equal(idset_parse("0x", 6, &s, NULL), -ERR_PARSE);
    assert_int_equal(idset_parse("0x1g", 6, &s, NULL), -ERR_PARSE);
    assert_int_equal(idset_parse("0x1,2", 6, &s, NULL), -ERR_PARSE);
    idset_done(&s);
    idset_done(&third);
    idset_done(&both);
    str_done(&text);
}

/* A million elements that start one after another stay one run. */
static void memory_depends_on_runs_only(void **state)
{
    struct idset s = {0};
    assert_int_equal(idset_parse("0-999999", 4000001, &s, NULL), 0);
    assert_int_equal(s.runs.len, 1);
    for (uint32_t i = 0; i < 1000; i++)
        idset_remove(&s, idset_first(&s));
    assert_int_equal(s.runs.len, 1);
    assert_int_equal(s.count, 999000);
    idset_remove(&s, 5000);
    assert_int_equal(s.runs.len, 2);
    idset_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_id_lists_are_refused),
        cmocka_unit_test(id_lists_are_parsed_and_formatted),
        cmocka_unit_test(repeated_ids_in_a_text_are_bounded),
        cmocka_unit_test(operations_agree_with_a_bitset),
        cmocka_unit_test(operations_on_many_runs_agree_with_a_bitset),
        cmocka_unit_test(four_million_ids_are_split_into_pieces),
        cmocka_unit_test(memory_depends_on_runs_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
