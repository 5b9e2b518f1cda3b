/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/terminal.h"

/* In one piece, and byte by byte. */
static void expect_passed(const char *key, bool raw, const char *typed, const char *passed,
                          char command)
{
    for (int whole = 0; whole < 2; whole++) {
        struct escape e;
        _cleanup_str_ struct str out = STR_INIT;
        size_t len = strlen(typed);
        char got = 0;

        if (key)
            setenv("SLUICE_ESCAPE_CHAR", key, 1);
        else
            unsetenv("SLUICE_ESCAPE_CHAR");
        escape_init(&e, ".&", raw);
        if (whole)
            got = escape_take(&e, typed, len, &out);
        for (size_t i = 0; i < len && !whole && !got; i++)
            got = escape_take(&e, typed + i, 1, &out);
        if (!got)
            escape_end(&e, &out);
        assert_string_equal(str_cstr(&out), passed);
        assert_int_equal(got, command);
    }
}

static void test_escapes_are_found_in_raw_input(void **state)
{
    static const struct {
        const char *typed, *passed;
        char command;
    } cases[] = {
        {"", "", 0},
        {"abc\r", "abc\r", 0},
        {"~.", "", '.'},
        {"ls\r~&more", "ls\r", '&'},
        {"a~.", "a~.", 0},
        {"~~.", "~.", 0},
        {"\r~~\r~.", "\r~\r", '.'},
        {"~/bin\r", "~/bin\r", 0},
        {"~\r~.", "~\r", '.'}, /* a line of its own */
        {"~", "~", 0},
        {"\n~x~.", "\n~x~.", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_passed(NULL, true, cases[i].typed, cases[i].passed, cases[i].command);
}

static void test_escapes_are_found_in_lines(void **state)
{
    static const struct {
        const char *typed, *passed;
        char command;
    } cases[] = {
        {"~.\n", "", '.'},
        {"one\n~&\ntwo\n", "one\n", '&'},
        {"~.profile\n", "~.profile\n", 0},
        {"~~&\n", "~&\n", 0},
        {"~&", "~&", 0},
        {"~&&\n~.\n", "~&&\n", '.'},
        {"~\n~.\n", "~\n", '.'},
        {" ~.\n", " ~.\n", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_passed(NULL, false, cases[i].typed, cases[i].passed, cases[i].command);
}

static void test_escape_key_is_configurable(void **state)
{
    expect_passed("%", true, "~.%.", "~.%.", 0);
    expect_passed("%", true, "~.\r%.", "~.\r", '.');
    expect_passed("none", true, "~.\r~&", "~.\r~&", 0);
    expect_passed("", true, "~.", "", '.');
    expect_passed("long", true, "~.", "", '.');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes_are_found_in_raw_input),
        cmocka_unit_test(test_escapes_are_found_in_lines),
        cmocka_unit_test(test_escape_key_is_configurable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
