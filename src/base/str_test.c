/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void numbers_are_parsed_within_their_range(void **state)
{
    static const struct {
        const char *text;
        long long min, max;
        int code;
        long long value;
    } rows[] = {
        {NULL, 0, 9, -ERR_PARSE, 0},
        {"", 0, 9, -ERR_PARSE, 0},
        {"-", -9, 9, -ERR_PARSE, 0},
        {" 1", 0, 9, -ERR_PARSE, 0},
        {"1 ", 0, 9, -ERR_PARSE, 0},
        {"1x", 0, 9, -ERR_PARSE, 0},
        {"0x1", 0, 9, -ERR_PARSE, 0},
        {"--1", -9, 9, -ERR_PARSE, 0},
        {"10", 0, 9, -ERR_RANGE, 0},
        {"-1", 0, 9, -ERR_RANGE, 0},
        {"9223372036854775808", LLONG_MIN, LLONG_MAX, -ERR_RANGE, 0},
        {"9223372036854775807", LLONG_MIN, LLONG_MAX, 0, LLONG_MAX},
        {"-9223372036854775808", LLONG_MIN, LLONG_MAX, 0, LLONG_MIN},
        {"007", 0, 9, 0, 7},
        {"-0", 0, 9, 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        long long value = 4711;
        assert_int_equal(str_parse_i64(rows[i].text, rows[i].min, rows[i].max, &value),
                         rows[i].code);
        assert_true(value == (rows[i].code ? 4711 : rows[i].value));
    }
}

static void full_string_adds_nothing_more(void **state)
{
    _cleanup_str_ struct str s = STR_INIT_CAP(5);
    str_puts(&s, "abc");
    str_puts(&s, "def");
    assert_true(s.overflow);
    str_puts(&s, "d"); /* would fit, but what came before is missing */
    str_printf(&s, "%d", 1);
    assert_string_equal(str_cstr(&s), "abc");
    str_clear(&s);
    assert_false(s.overflow);
    str_printf(&s, "%s", "12345");
    assert_false(s.overflow);
    str_printf(&s, "%s", "6");
    assert_true(s.overflow);
    assert_string_equal(str_cstr(&s), "12345");
    str_append(&s, "x", SIZE_MAX);
    assert_int_equal(s.len, 5);
}

static void empty_is_never_null(void **state)
{
    _cleanup_str_ struct str s = STR_INIT;
    assert_string_equal(str_cstr(&s), "");
    str_puts(&s, NULL);
    str_puts(&s, "");
    str_append(&s, NULL, 0);
    str_consume(&s, 3);
    str_clear(&s);
    assert_string_equal(str_cstr(&s), "");
    char *taken = str_take(&s);
    assert_string_equal(taken, "");
    free(taken);
}

static void grows_and_shrinks(void **state)
{
    _cleanup_str_ struct str s = STR_INIT;
    for (int i = 0; i < 1000; i++)
        str_printf(&s, "%03d", i);
    assert_int_equal(s.len, 3000);
    assert_memory_equal(s.data + 2997, "999", 4);
    str_consume(&s, 2994);
    assert_string_equal(str_cstr(&s), "998999");
    str_putc(&s, '\0');
    str_putc(&s, 'z');
    assert_memory_equal(s.data, "998999\0z", 9);
    char *taken = str_take(&s);
    assert_memory_equal(taken, "998999\0z", 9);
    free(taken);
    assert_int_equal(s.len, 0);
    str_puts(&s, "again");
    str_consume(&s, 99);
    assert_string_equal(str_cstr(&s), "");
}

static void null_differs_from_an_empty_string(void **state)
{
    assert_true(str_eq(NULL, NULL) && str_case_eq(NULL, NULL));
    assert_false(str_eq(NULL, "") || str_eq("", NULL));
    assert_false(str_case_eq(NULL, "") || str_case_eq("", NULL));
    assert_true(str_eq("a", "a") && !str_eq("a", "A"));
    assert_true(str_case_eq("aZ@[", "Az@["));
    assert_false(str_case_eq("@", "`")); /* 0x20 apart, not letters */
    assert_false(str_case_eq("a", "ab") || str_case_eq("ab", "a"));
    assert_true(str_starts("abc", "ab") && str_starts("abc", ""));
    assert_false(str_starts("ab", "abc") || str_starts(NULL, "a") || str_starts("a", NULL));
}

static void shell_words_are_quoted(void **state)
{
    static const char *const rows[][2] = {
        {"", "''"}, {"it's", "'it'\\''s'"}, {"$a \"b\" \\", "'$a \"b\" \\'"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        str_put_quoted(&out, rows[i][0]);
        assert_string_equal(str_cstr(&out), rows[i][1]);
    }
}

static void white_space_is_trimmed(void **state)
{
    static const char *const rows[][2] = {
        {"", ""}, {" \t\n", ""}, {" a b\r\n", "a b"}, {"ab", "ab"}, {"\va ", "a"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        _cleanup_free_ char *copy = mem_strdup(rows[i][0]);
        assert_string_equal(str_trim(copy), rows[i][1]);
    }
}

static void hash_matches_published_vectors(void **state)
{
    assert_true(str_hash("") == UINT64_C(0xcbf29ce484222325)); /* vectors of its authors */
    assert_true(str_hash("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(str_hash("foobar") == UINT64_C(0x85944171f73967e8));
    assert_true(str_hash("\xff") != str_hash("\x7f"));
}

static void edit_distances_are_computed(void **state)
{
    static const struct {
        const char *a, *b;
        unsigned bound, distance;
    } rows[] = {
        {"", "", 9, 0},
        {"", "abc", 9, 3},
        {"abc", "", 9, 3},
        {"abc", "abc", 9, 0},
        {"kitten", "sitting", 9, 3},
        {"kitten", "sitting", 2, 2},
        {"ab", "ba", 9, 2},
        {"NodeNmae", "NodeName", 9, 2},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(str_distance(rows[i].a, rows[i].b, rows[i].bound), rows[i].distance);
    char big[66];
    memset(big, 'a', 65);
    big[65] = '\0';
    assert_int_equal(str_distance(big, big, 5), 5);
    big[64] = '\0';
    assert_int_equal(str_distance(big, big, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_parsed_within_their_range),
        cmocka_unit_test(full_string_adds_nothing_more),
        cmocka_unit_test(empty_is_never_null),
        cmocka_unit_test(grows_and_shrinks),
        cmocka_unit_test(null_differs_from_an_empty_string),
        cmocka_unit_test(shell_words_are_quoted),
        cmocka_unit_test(white_space_is_trimmed),
        cmocka_unit_test(hash_matches_published_vectors),
        cmocka_unit_test(edit_distances_are_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
