/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf_freq.h"

static void test_invalid_frequencies_are_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "fast",
                                      "0",
                                      "-1",
                                      "1e6",
                                      "99999999999999",
                                      "2147483649",
                                      "-high",
                                      "low-",
                                      "low-low",
                                      "high-low",
                                      "medium-low",
                                      "high-highm1",
                                      "2000000-1000000",
                                      "ondemand-high",
                                      "low-performance",
                                      "low-high:",
                                      "low-high:fast",
                                      "low-high:ondemand:performance",
                                      "high:ondemand",
                                      "high:",
                                      "low-high:userspace",
                                      "ondemand:low-high",
                                      "low high"};
    struct conf_freq f = {7, 8, CONF_GOVERNOR_POWERSAVE};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};

        assert_int_equal(conf_freq_parse(bad[i], &f, &err), -ERR_PARSE);
        assert_non_null(strstr(err.text, "P1[-P2][:P3]"));
        assert_non_null(strstr(err.text, bad[i]));
    }
    assert_int_equal(f.min, 7);
}

static void test_frequencies_are_parsed_and_formatted(void **state)
{
    static const struct {
        const char *text, *shown;
    } good[] = {{"2400000", "2400000"},
                {"LOW", "Low"},
                {"HighM1", "HighM1"},
                {"ondemand", "OnDemand"},
                {"schedutil", "SchedUtil"},
                {"low-medium", "Low-Medium"},
                {"1000-high", "1000-High"},
                {"high-3000000", "High-3000000"},
                {"800000-2400000:conservative", "800000-2400000:Conservative"},
                {"medium:USERSPACE", "Medium:UserSpace"}};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        struct conf_freq f;

        assert_int_equal(conf_freq_parse(good[i].text, &f, NULL), 0);
        conf_freq_format(&f, &out);
        assert_string_equal(str_cstr(&out), good[i].shown);
    }
}

static void test_only_configured_governors_are_allowed(void **state)
{
    static const struct {
        const char *text, *list;
        bool allowed;
    } cases[] = {{"ondemand", "OnDemand,Performance,UserSpace", true},
                 {"powersave", "OnDemand,Performance,UserSpace", false},
                 {"low-high:powersave", "OnDemand", false},
                 {"low-high", "OnDemand", true},
                 {"high", "OnDemand,userspace", true},
                 {"high", "OnDemand", false},
                 {"high", NULL, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct conf_freq f;
        struct err err = {0};

        assert_int_equal(conf_freq_parse(cases[i].text, &f, NULL), 0);
        assert_int_equal(conf_freq_allowed(&f, cases[i].list, &err) == 0, cases[i].allowed);
        if (!cases[i].allowed)
            assert_non_null(strstr(err.text, "CpuFreqGovernors="));
    }
}

/* A range has the governor of CpuFreqDef where it names none. */
static void test_range_takes_the_default_governor(void **state)
{
    static const struct {
        const char *text, *fallback, *shown;
    } cases[] = {{"low-high", "ondemand", "Low-High:OnDemand"},
                 {"low-high", "userspace", NULL},
                 {"low-high", "high", NULL},
                 {"low-high", "", NULL},
                 {"low-high", NULL, NULL},
                 {"high", NULL, "High"},
                 {"low-high:powersave", "ondemand", "Low-High:PowerSave"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        struct conf_freq f;

        assert_int_equal(conf_freq_parse(cases[i].text, &f, NULL), 0);
        assert_int_equal(conf_freq_complete(&f, cases[i].fallback), cases[i].shown != NULL);
        conf_freq_format(&f, &out);
        if (cases[i].shown)
            assert_string_equal(str_cstr(&out), cases[i].shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_invalid_frequencies_are_refused),
                                       cmocka_unit_test(test_frequencies_are_parsed_and_formatted),
                                       cmocka_unit_test(test_only_configured_governors_are_allowed),
                                       cmocka_unit_test(test_range_takes_the_default_governor)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
