/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void missing_err_is_ignored(void **state)
{
    assert_int_equal(err_set(NULL, -ERR_NO_JOB, "x"), -ERR_NO_JOB);
    assert_int_equal(err_prefix(NULL, "x"), -ERR_GENERIC);
}

/* The error is visible even if the user has typed a long text. */
static void long_text_keeps_its_beginning_and_end(void **state)
{
    struct err err = {0};
    char typed[30000];
    memset(typed, '7', sizeof typed);
    typed[sizeof typed - 1] = 0;
    assert_int_equal(err_set(&err, -ERR_PARSE, "JobId=%s: too many jobs", typed), -ERR_PARSE);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    assert_memory_equal(err.text, "JobId=777", 9);
    assert_string_equal(err.text + ERR_TEXT_MAX - 1 - strlen("777: too many jobs"),
                        "777: too many jobs");
    assert_non_null(strstr(err.text, "7[...]7"));
    typed[ERR_TEXT_MAX - 1] = 0; /* it just fits */
    err_set(&err, -ERR_PARSE, "%s", typed);
    assert_string_equal(err.text, typed);
}

static void unknown_codes_have_a_text(void **state)
{
    static const int codes[] = {999, -999, 1999, INT_MAX, INT_MIN, INT_MIN + 1};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        assert_string_equal(err_text(codes[i]), "Unknown error");
        assert_string_equal(err_name(codes[i]), "UNKNOWN");
    }
}

/* Codes are sent between hosts: two errors with one number could not be distinguished. */
static void numbers_and_names_are_unique(void **state)
{
    static const struct {
        const char *name;
        int number;
    } rows[] = {
#define ERR(name, number, text) {#name, number},
#include "base/err.def"
#undef ERR
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t j = 0; j < i; j++)
            if (rows[i].number == rows[j].number || strcmp(rows[i].name, rows[j].name) == 0)
                fail_msg("%s and %s are both %d", rows[j].name, rows[i].name, rows[i].number);
}

static void codes_of_either_sign_have_name_and_text(void **state)
{
    static const struct {
        int code;
        const char *name, *text;
    } rows[] = {
        {0, "OK", "No error"},
        {ENOENT, "ENOENT", "No such file or directory"},
        {ERR_NO_PARTITION, "ERR_NO_PARTITION", "Invalid partition name specified"},
        {ERR_NO_CHANGE, "ERR_NO_CHANGE", "Data has not changed since time specified"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(err_name(rows[i].code), rows[i].name);
        assert_string_equal(err_name(-rows[i].code), rows[i].name);
        assert_string_equal(err_text(rows[i].code), rows[i].text);
        assert_string_equal(err_text(-rows[i].code), rows[i].text);
    }
}

static void numbers_are_distinct_and_above_errno(void **state)
{
    static const int numbers[] = {
#define ERR(name, number, text) number,
#include "base/err.def"
#undef ERR
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_true(numbers[i] > 1000);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(numbers[i], numbers[k]);
    }
}

static void text_is_set_and_prefixed(void **state)
{
    struct err err = {0};
    assert_int_equal(err_set(&err, -ENOENT, "cannot open %s", "f"), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_int_equal(err_prefix(&err, "line %d", 3), -ENOENT);
    assert_string_equal(err.text, "line 3: cannot open f");
    assert_int_equal(err_prefix(&err, "%.4s", err.text), -ENOENT);
    assert_string_equal(err.text, "line: line 3: cannot open f");
}

static void long_texts_are_cut(void **state)
{
    char big[2 * ERR_TEXT_MAX];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    struct err err = {0};
    err_set(&err, -1, "%s", big);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    err_prefix(&err, "p");
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    assert_memory_equal(err.text, "p: xxx", 6);
    err_prefix(&err, "%s", big);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_err_is_ignored),
        cmocka_unit_test(long_text_keeps_its_beginning_and_end),
        cmocka_unit_test(unknown_codes_have_a_text),
        cmocka_unit_test(numbers_and_names_are_unique),
        cmocka_unit_test(codes_of_either_sign_have_name_and_text),
        cmocka_unit_test(numbers_are_distinct_and_above_errno),
        cmocka_unit_test(text_is_set_and_prefixed),
        cmocka_unit_test(long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
