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
        assert_int_equal(strstr(err.text, "alternatives with | are not supported") != NULL,
                         strchr(texts[i], '|') != NULL);
    }
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
        cmocka_unit_test(names_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
