/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/step_id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void test_step_names_are_formatted_and_parsed(void **state)
{
    (void)state;
    static const struct {
        uint32_t id;
        const char *name;
    } rows[] = {{0, "0"},
                {7, "7"},
                {INT32_MAX, "2147483647"},
                {STEP_ID_BATCH, "batch"},
                {STEP_ID_EXTERN, "extern"},
                {STEP_ID_INTERACTIVE, "interactive"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char name[STEP_ID_NAME_MAX], text[STEP_ID_TEXT_MAX], expected[STEP_ID_TEXT_MAX];
        uint32_t back = 1;
        assert_string_equal(step_id_name(rows[i].id, name), rows[i].name);
        snprintf(expected, sizeof(expected), "42.%s", rows[i].name);
        assert_string_equal(step_id_text(42, rows[i].id, text), expected);
        assert_true(step_id_parse(name, &back));
        assert_int_equal(back, rows[i].id);
    }
}

static void test_longest_step_id_fits(void **state)
{
    (void)state;
    char text[STEP_ID_TEXT_MAX];
    assert_string_equal(step_id_text(UINT32_MAX, STEP_ID_INTERACTIVE, text),
                        "4294967295.interactive");
    assert_string_equal(step_id_text(UINT32_MAX, UINT32_MAX, text), "4294967295.4294967295");
}

static void test_invalid_step_names_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"",   "x",       "-1",  "+1",         " 1",
                                        "1x", "batches", "bat", "2147483648", "4294967291"};
    uint32_t id = 5;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_false(step_id_parse(names[i], &id));
    assert_int_equal(id, 5);
    assert_true(step_id_parse("BATCH", &id) && id == STEP_ID_BATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_names_are_formatted_and_parsed),
        cmocka_unit_test(test_longest_step_id_fits),
        cmocka_unit_test(test_invalid_step_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
