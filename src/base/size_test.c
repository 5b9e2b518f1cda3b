/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void invalid_sizes_are_refused(void **state)
{
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {NULL, -ERR_PARSE},
        {"", -ERR_PARSE},
        {"G", -ERR_PARSE},
        {"-1", -ERR_PARSE},
        {"+1", -ERR_PARSE},
        {" 1", -ERR_PARSE},
        {"1 ", -ERR_PARSE},
        {"1 G", -ERR_PARSE},
        {"1X", -ERR_PARSE},
        {"1GG", -ERR_PARSE},
        {"1Gx", -ERR_PARSE},
        {"1.", -ERR_PARSE},
        {"1.G", -ERR_PARSE},
        {".5G", -ERR_PARSE},
        {"1.5.5", -ERR_PARSE},
        {"0x10", -ERR_PARSE},
        {"1B", -ERR_PARSE},
        {"1e3", -ERR_PARSE},
        {"18446744073709551616", -ERR_RANGE},
        {"9223372036854775808", -ERR_RANGE},
        {"18446744073709551615T", -ERR_RANGE},
        {"17592186044417", -ERR_RANGE},
        {"16777216.000001T", -ERR_RANGE},
        {"99999999999T", -ERR_RANGE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        uint64_t mib = 4711;
        assert_int_equal(size_parse_mib(rows[i].text, &mib, &err), rows[i].code);
        assert_int_equal(err.code, rows[i].code);
        if (rows[i].text)
            assert_non_null(strstr(err.text, rows[i].text));
        assert_int_equal(mib, 4711);
    }
}

static void sizes_are_parsed_with_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t mib;
    } rows[] = {
        {"0", 0},
        {"2048", 2048},
        {"2048M", 2048},
        {"4G", 4096},
        {"4gb", 4096},
        {"1.5T", 1572864},
        {"512K", 1},
        {"1024k", 1},
        {"1025k", 2},
        {"0K", 0},
        {"0.5", 1},
        {"1.0", 1},
        {"1.000001M", 2},
        {"0.25G", 256},
        {"1MB", 1},
        {"1.0000000000000001", 2},
        {"17592186044416", SIZE_MIB_MAX},
        {"16777216T", SIZE_MIB_MAX},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t mib = 4711;
        assert_int_equal(size_parse_mib(rows[i].text, &mib, NULL), 0);
        assert_int_equal(mib, rows[i].mib);
    }
}

static void sizes_are_formatted(void **state)
{
    static const struct {
        uint64_t mib;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1M"},
        {500, "500M"},
        {1024, "1G"},
        {1536, "1536M"},
        {4096, "4G"},
        {1572864, "1536G"},
        {1048576, "1T"},
        {UINT64_C(1) << 30, "1P"},
        {UINT64_C(1) << 40, "1024P"},
        {UINT64_MAX, "18446744073709551615M"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char buf[SIZE_TEXT_MAX];
        assert_string_equal(size_format_mib(rows[i].mib, buf), rows[i].text);
    }
}

static void counts_are_parsed_within_their_limit(void **state)
{
    static const struct {
        const char *text;
        uint64_t max;
        int code;
        uint64_t count;
    } rows[] = {
        {NULL, 9, -ERR_PARSE, 0},
        {"", 9, -ERR_PARSE, 0},
        {"k", 9, -ERR_PARSE, 0},
        {"-1", 9, -ERR_PARSE, 0},
        {"1z", 9, -ERR_PARSE, 0},
        {"1kk", 9999, -ERR_PARSE, 0},
        {"1.5k", 9999, -ERR_PARSE, 0},
        {"10", 9, -ERR_RANGE, 0},
        {"1k", 1023, -ERR_RANGE, 0},
        {"18446744073709551616", UINT64_MAX, -ERR_RANGE, 0},
        {"18446744073709551615k", UINT64_MAX, -ERR_RANGE, 0},
        {"9", 9, 0, 9},
        {"10k", 99999, 0, 10240},
        {"2M", UINT64_MAX, 0, 2097152},
        {"0", 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t count = 4711;
        assert_int_equal(size_parse_count(rows[i].text, rows[i].max, &count, NULL), rows[i].code);
        assert_int_equal(count, rows[i].code ? 4711 : rows[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_sizes_are_refused),
        cmocka_unit_test(sizes_are_parsed_with_units),
        cmocka_unit_test(sizes_are_formatted),
        cmocka_unit_test(counts_are_parsed_within_their_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
