/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/envlist.h"

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

static void test_variables_are_set_read_and_unset(void **state)
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

static void test_first_duplicate_of_the_environment_counts(void **state)
{
    char *vars[] = {"A=1", "none", "A=2", "B=", NULL};
    struct envlist e = {0};

    envlist_load_all(&e, vars);
    assert_int_equal(e.vars.len, 2);
    assert_string_equal(envlist_get(&e, "A"), "1");
    assert_string_equal(envlist_get(&e, "B"), "");
    envlist_done(&e);
}

static bool is_odd(const char *name, size_t len)
{
    return (name[len - 1] - '0') % 2;
}

/* As many variables as a heterogeneous job of 128 components has. */
static void test_thousands_of_variables_can_be_set_and_unset(void **state)
{
    struct envlist e = {0};
    char name[16];

    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 5000; i++) {
            snprintf(name, sizeof(name), "V%d", i);
            envlist_setf(&e, name, "%d", turn + i);
        }
    assert_int_equal(e.vars.len, 5000);
    assert_string_equal(envlist_argv(&e)[4999], "V4999=5000");
    envlist_unset_if(&e, is_odd);
    for (int i = 1000; i < 2000; i += 4) {
        snprintf(name, sizeof(name), "V%d", i);
        envlist_unset(&e, name);
    }
    envlist_replace(&e, "V2", NULL);
    envlist_replace(&e, "V3", "again");
    assert_int_equal(e.vars.len, 2250);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "V%d", i);
        const char *value = envlist_get(&e, name);
        if (i == 3)
            assert_string_equal(value, "again");
        else if (i % 2 || i == 2 || (i >= 1000 && i < 2000 && i % 4 == 0))
            assert_null(value);
        else
            assert_int_equal(atoi(value), i + 1);
    }
    assert_null(envlist_argv(&e)[2250]);
    envlist_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_strings_are_left_out),
        cmocka_unit_test(test_variables_are_set_read_and_unset),
        cmocka_unit_test(test_first_duplicate_of_the_environment_counts),
        cmocka_unit_test(test_thousands_of_variables_can_be_set_and_unset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
