/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "slurmstepd/step/envlist.h"

static void test_hostile_strings_are_left_out(void **state)
{
    char *vars[] = {"", "=", "=x", "novalue", "A=1", "A=2", "B=", "C==", "AB=3"};
    struct envlist e = {0};
    char **argv;

    envlist_load(&e, vars, sizeof(vars) / sizeof(vars[0]));
    argv = envlist_argv(&e);
    assert_string_equal(argv[0], "A=2");
    assert_string_equal(argv[1], "B=");
    assert_string_equal(argv[2], "C==");
    assert_string_equal(argv[3], "AB=3");
    assert_null(argv[4]);
    envlist_done(&e);
}

static void test_set_get_unset(void **state)
{
    struct envlist e = {0};

    assert_null(envlist_get(&e, "A"));
    envlist_set(&e, "A", "one");
    envlist_set(&e, "AA", "two");
    envlist_set(&e, "A", NULL);
    envlist_setf(&e, "N", "%d", 5);
    envlist_default(&e, "A", "other");
    envlist_default(&e, "D", "default");
    assert_string_equal(envlist_get(&e, "A"), "one");
    assert_string_equal(envlist_get(&e, "AA"), "two");
    assert_string_equal(envlist_get(&e, "N"), "5");
    assert_string_equal(envlist_get(&e, "D"), "default");
    envlist_unset(&e, "A");
    envlist_unset(&e, "never");
    assert_null(envlist_get(&e, "A"));
    assert_string_equal(envlist_argv(&e)[0], "AA=two");
    envlist_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_strings_are_left_out),
        cmocka_unit_test(test_set_get_unset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
