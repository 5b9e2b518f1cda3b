/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hostlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"

static void invalid_host_lists_are_refused(void **state)
{
    static const struct {
        const char *expr;
        int code;
        const char *text; /* found in the message */
    } rows[] = {
        {"a[1-3", -ERR_PARSE, "not closed at column 2: \"[1-3\""},
        {"a[", -ERR_PARSE, "not closed"},
        {"b,a1]", -ERR_PARSE, "not opened at column 5"},
        {"a[3-1]", -ERR_PARSE, "backwards at column 3: \"3-1\""},
        {"a[]", -ERR_PARSE, "empty brackets at column 2"},
        {"a[,]", -ERR_PARSE, "expected a number"},
        {"a[1-2,]", -ERR_PARSE, "expected a number at column 7"},
        {"a[-1]", -ERR_PARSE, "expected a number"},
        {"a[1-]", -ERR_PARSE, "expected a number"},
        {"a[1--2]", -ERR_PARSE, "expected a number"},
        {"a[1-2-3]", -ERR_PARSE, "unexpected text"},
        {"a[1[2]]", -ERR_PARSE, "unexpected text"},
        {"a[x]", -ERR_PARSE, "expected a number at column 3: \"x\""},
        {"a[1 - 2]", -ERR_PARSE, "unexpected text"},
        {"a[0x1]", -ERR_PARSE, "unexpected text"},
        {"a\001b", -ERR_PARSE, "control character"},
        {"a[1234567890123456789]", -ERR_PARSE, "too many digits"},
        {"a[1-99999999999]", -ERR_LIMIT, "too many names at column 1"},
        {"a[0-999999999]", -ERR_LIMIT, "too many names"},
        {"a[0-999999999999999999,0-999999999999999999]", -ERR_LIMIT, "too many names"},
        {"a[0-1023][0-1023][0-1]", -ERR_LIMIT, "too many names"},
        {"a[0-1048575],b", -ERR_LIMIT, "too many names at column 14: \"b\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        struct hostlist *h = NULL;
        assert_int_equal(hostlist_parse(rows[i].expr, &h, &err), rows[i].code);
        assert_int_equal(err.code, rows[i].code);
        assert_null(h);
        if (!strstr(err.text, rows[i].text))
            fail_msg("\"%s\": message is: %s", rows[i].expr, err.text);
        assert_int_equal(hostlist_parse(rows[i].expr, &h, NULL), rows[i].code);
    }
}

static void long_host_names_are_refused(void **state)
{
    char expr[300];
    memset(expr, 'a', sizeof(expr));
    struct hostlist *h = NULL;
    expr[HOSTLIST_NAME_MAX + 1] = '\0';
    assert_int_equal(hostlist_parse(expr, &h, NULL), -ERR_LIMIT);
    expr[HOSTLIST_NAME_MAX] = '\0';
    assert_int_equal(hostlist_parse(expr, &h, NULL), 0);
    char buf[HOSTLIST_NAME_MAX + 1];
    assert_string_equal(hostlist_nth(h, 0, buf), expr);
    hostlist_free(h);
    snprintf(expr + HOSTLIST_NAME_MAX - 1, 10, "%s", "[9-10]");
    assert_int_equal(hostlist_parse(expr, &h, NULL), -ERR_LIMIT);
    snprintf(expr + HOSTLIST_NAME_MAX - 1, 10, "%s", "[8-9]");
    assert_int_equal(hostlist_parse(expr, &h, NULL), 0);
    assert_int_equal(hostlist_nth(h, 1, buf)[HOSTLIST_NAME_MAX - 1], '9');
    hostlist_free(h);
}

/* Expression, its names, its format, its format when unique. Checked against Slurm's own library,
 * except where a name may be split in several ways. */
static const struct {
    const char *expr, *names, *format, *uniq;
} good[] = {
    {"", "", "", ""},
    {" , ,", "", "", ""},
    {"a,,b", "a b", "a,b", "a,b"},
    {"a b\tc", "a b c", "a,b,c", "a,b,c"},
    {"a1,a2,a3", "a1 a2 a3", "a[1-3]", "a[1-3]"},
    {"n1", "n1", "n1", "n1"},
    {"n1,n2,n5", "n1 n2 n5", "n[1-2,5]", "n[1-2,5]"},
    {"1,2,3", "1 2 3", "[1-3]", "[1-3]"},
    {"[6820]", "6820", "6820", "6820"},
    {"a01,a2,a003,a10", "a01 a2 a003 a10", "a[01,2,003,10]", "a[2,01,10,003]"},
    {"a[09-11]", "a09 a10 a11", "a[09-11]", "a[09-11]"},
    {"a[01-3]", "a01 a02 a03", "a[01-03]", "a[01-03]"},
    {"a[1-003]", "a1 a2 a3", "a[1-3]", "a[1-3]"},
    {"a9,a10", "a9 a10", "a[9-10]", "a[9-10]"},
    {"a99,a100", "a99 a100", "a[99-100]", "a[99-100]"},
    {"a099,a100", "a099 a100", "a[099-100]", "a[099-100]"},
    {"a99,a0100", "a99 a0100", "a[99,0100]", "a[99,0100]"},
    {"a09,a10,a011", "a09 a10 a011", "a[09-10,011]", "a[09-10,011]"},
    {"a[8-11,99-101]", "a8 a9 a10 a11 a99 a100 a101", "a[8-11,99-101]", "a[8-11,99-101]"},
    {"a3,a1,a2", "a3 a1 a2", "a[3,1-2]", "a[1-3]"},
    {"a1,a1,a2", "a1 a1 a2", "a[1,1-2]", "a[1-2]"},
    {"a[1-2],a[3-4],a[2-3]", "a1 a2 a3 a4 a2 a3", "a[1-4,2-3]", "a[1-4]"},
    {"b1,a2,a1,b0", "b1 a2 a1 b0", "b1,a[2,1],b0", "a[1-2],b[0-1]"},
    {"a[1,3-4],b[2]", "a1 a3 a4 b2", "a[1,3-4],b2", "a[1,3-4],b2"},
    {"r[0-1]n[0-2]", "r0n0 r0n1 r0n2 r1n0 r1n1 r1n2", "r0n[0-2],r1n[0-2]", "r0n[0-2],r1n[0-2]"},
    {"r[0-1]n[8-10]", "r0n8 r0n9 r0n10 r1n8 r1n9 r1n10", "r0n[8-10],r1n[8-10]",
     "r0n[8-10],r1n[8-10]"},
    {"x9,x[08-10]", "x9 x08 x09 x10", "x[9,08-10]", "x[9,08-10]"},
    {"01,1", "01 1", "[01,1]", "[1,01]"},
    {"a00,a0", "a00 a0", "a[00,0]", "a[0,00]"},
    {"A1,a2", "A1 a2", "A1,a2", "A1,a2"},
    {"a-1,a-2", "a-1 a-2", "a-[1-2]", "a-[1-2]"},
    {"a,a1", "a a1", "a,a1", "a,a1"},
    {"a[1-2]-ib,a1-ib", "a1-ib a2-ib a1-ib", "a1-ib,a2-ib,a1-ib", "a1-ib,a2-ib"},
    {"a[1-2]b5", "a1b5 a2b5", "a1b5,a2b5", "a1b5,a2b5"},
    {"a[1-2][3-4]", "a13 a14 a23 a24", "a[13-14,23-24]", "a[13-14,23-24]"},
    {"a1[3-4],a13", "a13 a14 a13", "a[13-14,13]", "a[13-14]"},
    {"a0[9-10]", "a09 a010", "a[09,010]", "a[09,010]"},
    {"n123456789012345678901", "n123456789012345678901", "n123456789012345678901",
     "n123456789012345678901"},
    {"n[999999999999999998-999999999999999999]", "n999999999999999998 n999999999999999999",
     "n[999999999999999998-999999999999999999]", "n[999999999999999998-999999999999999999]"},
};

static void join_names(const struct hostlist *h, struct str *out)
{
    char buf[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < hostlist_count(h); i++)
        str_printf(out, "%s%s", i ? " " : "", hostlist_nth(h, i, buf));
}

static void host_lists_are_parsed_and_formatted(void **state)
{
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct err err = {0};
        _cleanup_hostlist_ struct hostlist *h = NULL;
        if (hostlist_parse(good[i].expr, &h, &err) != 0)
            fail_msg("\"%s\": %s", good[i].expr, err.text);
        _cleanup_str_ struct str names = STR_INIT, format = STR_INIT, uniq = STR_INIT;
        join_names(h, &names);
        assert_string_equal(str_cstr(&names), good[i].names);
        hostlist_format(h, &format);
        assert_string_equal(str_cstr(&format), good[i].format);

        /* Adding the names one by one gives the same list as the expression. */
        _cleanup_hostlist_ struct hostlist *pushed = hostlist_new();
        _cleanup_free_ char *copy = mem_strdup(good[i].names);
        char *rest = copy;
        for (char *name; (name = strsep(&rest, " "));)
            if (*name)
                hostlist_push(pushed, name);
        _cleanup_str_ struct str again = STR_INIT;
        hostlist_format(pushed, &again);
        assert_string_equal(str_cstr(&again), good[i].format);

        hostlist_uniq(h);
        hostlist_format(h, &uniq);
        assert_string_equal(str_cstr(&uniq), good[i].uniq);
    }
}

static void sort_keeps_duplicates(void **state)
{
    static const char *const rows[][2] = {
        {"b2,a[2-4],b1,a[1-3]", "a[1-2,2-3,3-4],b[1-2]"},
        {"a[9-11],a10", "a[9-10,10-11]"},
        {"a100,a99,a1", "a[1,99-100]"},
        {"c,b,a,b", "a,b,b,c"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_hostlist_ struct hostlist *h = NULL;
        assert_int_equal(hostlist_parse(rows[i][0], &h, NULL), 0);
        size_t before = hostlist_count(h);
        hostlist_sort(h);
        assert_int_equal(hostlist_count(h), before);
        _cleanup_str_ struct str format = STR_INIT;
        hostlist_format(h, &format);
        assert_string_equal(str_cstr(&format), rows[i][1]);
    }
}

static void find_and_remove(void **state)
{
    _cleanup_hostlist_ struct hostlist *h = NULL;
    assert_int_equal(hostlist_parse("n[8-12],m,n[08],r[1-2]n[3-4]", &h, NULL), 0);
    char buf[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < hostlist_count(h); i++)
        assert_int_equal(hostlist_find(h, hostlist_nth(h, i, buf)), (long)i);
    static const char *const absent[] = {"", "n", "n7", "n13", "n008", "m1", "r1", "r1n5", "n8x"};
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        assert_int_equal(hostlist_find(h, absent[i]), -1);
        assert_false(hostlist_remove(h, absent[i]));
    }
    static const char *const rows[][2] = {
        {"n11", "n[8-10,12],m,n08,r1n[3-4],r2n[3-4]"}, {"n8", "n[9-10,12],m,n08,r1n[3-4],r2n[3-4]"},
        {"n12", "n[9-10],m,n08,r1n[3-4],r2n[3-4]"},    {"m", "n[9-10,08],r1n[3-4],r2n[3-4]"},
        {"r1n4", "n[9-10,08],r1n3,r2n[3-4]"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(hostlist_remove(h, rows[i][0]));
        assert_int_equal(hostlist_find(h, rows[i][0]), -1);
        _cleanup_str_ struct str format = STR_INIT;
        hostlist_format(h, &format);
        assert_string_equal(str_cstr(&format), rows[i][1]);
        for (size_t k = 0; k < hostlist_count(h); k++)
            assert_int_equal(hostlist_find(h, hostlist_nth(h, k, buf)), (long)k);
    }
}

static void remove_from_the_middle(void **state)
{
    _cleanup_hostlist_ struct hostlist *h = NULL;
    assert_int_equal(hostlist_parse("n[10-19],z", &h, NULL), 0);
    for (int i = 11; i < 19; i += 2) {
        char name[8];
        snprintf(name, sizeof(name), "n%d", i);
        assert_true(hostlist_remove(h, name));
    }
    _cleanup_str_ struct str format = STR_INIT;
    hostlist_format(h, &format);
    assert_string_equal(str_cstr(&format), "n[10,12,14,16,18-19],z");
    assert_int_equal(hostlist_find(h, "z"), 6);
}

static void push_expr_is_all_or_nothing(void **state)
{
    _cleanup_hostlist_ struct hostlist *h = hostlist_new();
    assert_int_equal(hostlist_push_expr(h, "a[1-2]", NULL), 0);
    assert_int_equal(hostlist_push_expr(h, "a3,b[", NULL), -ERR_PARSE);
    assert_int_equal(hostlist_count(h), 2);
    assert_int_equal(hostlist_push_expr(h, "a[3-4]", NULL), 0);
    _cleanup_str_ struct str format = STR_INIT;
    hostlist_format(h, &format);
    assert_string_equal(str_cstr(&format), "a[1-4]");
}

static void hundred_thousand_names_are_handled(void **state)
{
    enum { COUNT = 100000 };
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    _cleanup_hostlist_ struct hostlist *h = NULL, *pushed = hostlist_new();
    assert_int_equal(hostlist_parse("prefix[000001-100000]", &h, NULL), 0);
    char buf[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < hostlist_count(h); i++)
        hostlist_push(pushed, hostlist_nth(h, i, buf));
    _cleanup_str_ struct str format = STR_INIT;
    hostlist_format(pushed, &format);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_int_equal(hostlist_count(pushed), COUNT);
    assert_string_equal(str_cstr(&format), "prefix[000001-100000]");
    print_message("%d names expanded and compressed in %.2f ms\n", COUNT,
                  (double)(end.tv_sec - start.tv_sec) * 1e3 +
                      (double)(end.tv_nsec - start.tv_nsec) / 1e6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_host_lists_are_refused),
        cmocka_unit_test(long_host_names_are_refused),
        cmocka_unit_test(host_lists_are_parsed_and_formatted),
        cmocka_unit_test(sort_keeps_duplicates),
        cmocka_unit_test(find_and_remove),
        cmocka_unit_test(remove_from_the_middle),
        cmocka_unit_test(push_expr_is_all_or_nothing),
        cmocka_unit_test(hundred_thousand_names_are_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
