/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf_license.h"

static void bad_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        ",",   "a,,b", "a,",    ":2",  "a:",     "a:0", "a:-1",          "a:x", "a b",
        "a|b", "a;b",  "a:1:2", "a=2", "a:2,b:", "a*2", "a:99999999999", "a&b", "a:1000000001"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct conf_licenses l;
        struct err err = {0};
        print_message("%s\n", texts[i]);
        assert_int_equal(conf_licenses_parse(texts[i], &l, &err), -ERR_LICENSE);
        assert_non_null(strstr(err.text, "Invalid license specification: "));
        assert_int_equal(l.list.len, 0);
        assert_int_equal(strstr(err.text, "which is for the requests of jobs") != NULL,
                         strchr(texts[i], '|') != NULL);
    }
}

static void refusal_names_range_of_counts(void **state)
{
    static const char *const texts[] = {"a(n[1-2]):0", "a:0", "b, a:-1", "a:1000000001,b",
                                        "a:99999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct conf_licenses l;
        struct err err = {0};
        print_message("%s\n", texts[i]);
        assert_int_equal(conf_license_items_parse(texts[i], &l, &err), -ERR_LICENSE);
        assert_non_null(strstr(err.text, "\" has a count outside 1 to 1000000000"));
        assert_int_equal(conf_licenses_parse(texts[i], &l, &err), -ERR_LICENSE);
        assert_non_null(strstr(err.text, "\" has a count outside 1 to 1000000000"));
    }
}

static void alternatives_are_for_requests(void **state)
{
    static const char *const bad[] = {"a|", "|a", "a||b", "a|b,c", "a,b|c", "a|b,", "a:0|b"};
    struct conf_licenses l;
    struct err err = {0};
    (void)state;
    assert_int_equal(conf_license_items_parse("a:4|b | a:2|power:whole", &l, NULL), 0);
    assert_true(l.any);
    assert_int_equal(l.list.len, 4);
    assert_string_equal(l.list.data[0].name, "a");
    assert_int_equal(l.list.data[0].count, 4);
    assert_string_equal(l.list.data[1].name, "b");
    assert_int_equal(l.list.data[2].count, 2);
    assert_string_equal(l.list.data[3].variable, "whole");
    conf_licenses_done(&l);
    assert_int_equal(conf_license_items_parse("a,b", &l, NULL), 0);
    assert_false(l.any);
    conf_licenses_done(&l);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        print_message("%s\n", bad[i]);
        assert_int_equal(conf_license_items_parse(bad[i], &l, &err), -ERR_LICENSE);
        assert_int_equal(l.list.len, 0);
    }
    assert_int_equal(conf_license_items_parse("a,b|c", &l, &err), -ERR_LICENSE);
    assert_string_equal(err.text, "Invalid license specification: \"a,b|c\" has both a comma, for "
                                  "licenses that are all needed, and a |, for alternatives");
}

static void names_and_counts(void **state)
{
    struct conf_licenses l;
    (void)state;
    assert_int_equal(conf_licenses_parse("matlab:4, ansys,a@b.c/d-e_f:2,matlab:3", &l, NULL), 0);
    assert_int_equal(l.list.len, 3);
    assert_string_equal(l.list.data[0].name, "matlab");
    assert_int_equal(l.list.data[0].count, 7);
    assert_string_equal(l.list.data[1].name, "ansys");
    assert_int_equal(l.list.data[1].count, 1);
    assert_string_equal(l.list.data[2].name, "a@b.c/d-e_f");
    conf_licenses_done(&l);
    assert_int_equal(conf_licenses_parse("x:1000000000,x:1000000000", &l, NULL), 0);
    assert_int_equal(l.list.data[0].count, CONF_LICENSE_COUNT_MAX);
    conf_licenses_done(&l);
    assert_int_equal(conf_licenses_parse("", &l, NULL), 0);
    assert_int_equal(conf_licenses_parse(NULL, &l, NULL), 0);
    assert_int_equal(l.list.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(refusal_names_range_of_counts),
        cmocka_unit_test(alternatives_are_for_requests),
        cmocka_unit_test(names_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
