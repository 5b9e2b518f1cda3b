/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/url.h"

static const char *const schemes[] = {"db://", "database://", NULL};

static void invalid_urls_are_refused(void **state)
{
    static const struct {
        const char *url, *text;
    } cases[] = {
        {"", "begin with db://"},
        {"http://h/d", "begin with db://, not with 'http'"},
        {"DB://h/d", "begin with db://"},
        {"db:/h/d", "begin with db://"},
        {"db://u:secret@x@h/d", "%40 for @"},
        {"db://u:sec/ret@h/d", "%2F for /"},
        {"db://u:sec?ret@h/d", "%3F for ?"},
        {"db://u:sec#ret@h/d", "%23 for #"},
        {"db://h/d?password=sec@ret", "%40"},
        {"db://u:sec%ret@h/d", "hexadecimal"},
        {"db://u:secret%2", "hexadecimal"},
        {"db://u:sec ret@h/d", "no blanks"},
        {"db://u:sec\nret@h/d", "no blanks"},
        {"db://u:sec\x7fret@h/d", "no blanks"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        assert_int_equal(url_check(cases[i].url, schemes, &err), -ERR_PARSE);
        if (!strstr(err.text, cases[i].text))
            fail_msg("%s: %s", cases[i].url, err.text);
        assert_null(strstr(err.text, "sec")); /* no part of a password */
    }
}

static void valid_urls_are_accepted(void **state)
{
    static const char *const urls[] = {
        "db://",     "db:///d",
        "db://u@/d", "db://u:p%40s@h:5432,[::1]:5433/d?a=b&c",
        "db://h",    "database://h?x=%2Frun%2Fdb",
    };
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
        assert_int_equal(url_check(urls[i], schemes, NULL), 0);
}

static void password_of_a_url_is_masked(void **state)
{
    static const struct {
        const char *url, *shown;
    } cases[] = {
        {"", ""},
        {"/var/spool/state", "/var/spool/state"},
        {"db://u@h/d", "db://u@h/d"},
        {"db://h:5432/d?sslmode=require", "db://h:5432/d?sslmode=require"},
        {"db://u:@h/d", "db://u:****@h/d"},
        {"db://u:secret@h:1/d?a=b", "db://u:****@h:1/d?a=b"},
        {"db://u:s@cret/a?b@h/d", "db://u:****@h/d"},
        {"db://:secret@h/d", "db://:****@h/d"},
        {"db://h/d?password=secret", "db://h/d?password=****"},
        {"db://h/d?a=b&sslPassword=secret&c=d", "db://h/d?a=b&sslPassword=****&c=d"},
        {"db://u:x@h/d?password=&password", "db://u:****@h/d?password=****&password"},
        {"u:secret@h/d", "u:****@h/d"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_free_ char *shown = url_mask(cases[i].url);
        assert_string_equal(shown, cases[i].shown);
        assert_int_equal(url_has_secret(cases[i].url), strstr(shown, "****") != NULL);
    }
    assert_null(url_mask(NULL));
    assert_false(url_has_secret(NULL));
}

static void urls_are_distinguished_from_paths(void **state)
{
    static const char *const urls[] = {"db://x", "postgresql:x", "http:/x"};
    static const char *const others[] = {"", "/a:b", "state", "./x:y", "a", ":x", "c:/x", "a/b:c"};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
        assert_true(url_is(urls[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(url_is(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_urls_are_refused),
        cmocka_unit_test(valid_urls_are_accepted),
        cmocka_unit_test(password_of_a_url_is_masked),
        cmocka_unit_test(urls_are_distinguished_from_paths),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
