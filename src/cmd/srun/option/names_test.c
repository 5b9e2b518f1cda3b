/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/names.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_kind_of_a_file_name_is_found(void **state)
{
    static const struct {
        const char *spec;
        enum names_kind kind;
        uint32_t task;
    } vectors[] = {
        {NULL, NAMES_DEFAULT, 0},    {"", NAMES_DEFAULT, 0},        {"ALL", NAMES_DEFAULT, 0},
        {"none", NAMES_NONE, 0},     {"/dev/null", NAMES_NONE, 0},  {"0", NAMES_TASK, 0},
        {"17", NAMES_TASK, 17},      {"4294967295", NAMES_FILE, 0}, {"-1", NAMES_FILE, 0},
        {"out", NAMES_FILE, 0},      {"%j.out", NAMES_FILE, 0},     {"%", NAMES_FILE, 0},
        {"%%t", NAMES_FILE, 0},      {"%t", NAMES_ON_NODE, 0},      {"a%3t", NAMES_ON_NODE, 0},
        {"%j-%N", NAMES_ON_NODE, 0}, {"%%%n", NAMES_ON_NODE, 0},    {"\\%t", NAMES_FILE, 0},
        {"%12", NAMES_FILE, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint32_t task = 0;

        assert_int_equal(names_kind(vectors[i].spec, &task), vectors[i].kind);
        assert_int_equal(task, vectors[i].task);
    }
}

static void test_file_names_are_expanded(void **state)
{
    static const struct names_values values = {.job_id = 128,
                                               .step_id = 3,
                                               .submit_at_sec = 1700000000,
                                               .user = "ann",
                                               .job_name = "wave"};
    static const struct {
        const char *pattern, *expect;
    } vectors[] = {
        {"%", "%"},
        {"%S.%5S", "s035AFRG000040.s035AFRG000040"},
        {"%q-%", "%q-%"},
        {"%99999999999999999999j", "0000000128"},
        {"\\%j\\", "%j"},
        {"job%J.out", "job128.3.out"},
        {"job%4j.out", "job0128.out"},
        {"%s-%2s-%A-%a", "3-03-128-0"},
        {"%u/%x/%%", "ann/wave/%"},
        {"plain", "plain"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str got = STR_INIT;

        assert_int_equal(names_expand(vectors[i].pattern, &values, &got, NULL), 0);
        assert_string_equal(str_cstr(&got), vectors[i].expect);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kind_of_a_file_name_is_found),
        cmocka_unit_test(test_file_names_are_expanded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
