/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/signame.h"

static void test_signal_names_are_parsed_and_formatted(void **state)
{
    static const struct {
        const char *text;
        int number;
    } v[] = {
        {"", -1},     {"SIG", -1}, {"FOO", -1},    {"-1", -1},      {"999", -1},
        {"9x", -1},   {"KILL", 9}, {"SIGKILL", 9}, {"sigterm", 15}, {"Term", 15},
        {"usr1", 10}, {"10", 10},  {"SigInt", 2},  {"0", 0},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        assert_int_equal(signame_parse(v[i].text), v[i].number);
    assert_string_equal(signame_format(9), "KILL");
    assert_string_equal(signame_format(63), "Unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signal_names_are_parsed_and_formatted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
