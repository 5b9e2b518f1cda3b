/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sluid.h"

#include <stdio.h>
#include <string.h>

#include "base/base_test_util.h"
#include "base/step_id.h"

static void invalid_sluids_are_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "s",
                                      "S01C0ZNX000001",
                                      "t01C0ZNX000001",
                                      "s01C0ZNX00000",
                                      "s01C0ZNX0000011",
                                      "s01C0ZNX00000I",
                                      "s01C0ZNX00000L",
                                      "s01C0ZNX00000O",
                                      "s01C0ZNX00000U",
                                      "s01C0ZNX00000-",
                                      "sG1C0ZNX000001" /* 65 bits */,
                                      "123"};
    uint32_t id = 7;
    int64_t at = 8;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(sluid_parse(bad[i], &id, &at));
    assert_true(id == 7 && at == 8);
}

static void sluid_text_is_parsed_back(void **state)
{
    static const int64_t times[] = {0, 1, 1700000000, 1795000000, (INT64_C(1) << 38) - 1};
    static const uint32_t ids[] = {0, 1, 31, 32, 123456, JOB_ID_UNALLOCATED - 1};
    char before[SLUID_TEXT_MAX] = "", text[SLUID_TEXT_MAX], step[SLUID_TEXT_MAX + 4];
    for (size_t t = 0; t < sizeof(times) / sizeof(*times); t++)
        for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
            uint32_t id = 0;
            int64_t at = 0;
            sluid_text(ids[i], times[t], text);
            assert_int_equal(strlen(text), SLUID_LEN);
            assert_true(strcmp(before, text) < 0); /* sorted by time, then by id */
            memcpy(before, text, sizeof(before));
            snprintf(step, sizeof(step), "%s.12", text);
            assert_true(sluid_parse(step, &id, &at));
            assert_true(id == ids[i] && at == times[t]);
        }
    assert_string_equal(SLUID_TEXT(1, 1700000000), "s035AFRG000001");
    assert_string_equal(SLUID_TEXT(1, -5), SLUID_TEXT(1, 0));
    assert_string_equal(SLUID_TEXT(1, INT64_MAX), "sFZZZZZZY00001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_sluids_are_refused),
        cmocka_unit_test(sluid_text_is_parsed_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
