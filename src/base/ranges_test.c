/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

static void ranges_of_lists(void **state)
{
    static const struct {
        const char *list;
        long count;
        const char *ranges; /* before what is not a range */
    } cases[] = {
        {"x", -1, ""},
        {",", -1, ""},
        {"-1", -1, ""},
        {"3-1", -1, ""},
        {"1-", -1, ""},
        {"1-x", -1, ""},
        {" 1", -1, ""},
        {"65536", -1, ""},
        {"0-65536", -1, ""},
        {"99999999999999999999", -1, ""},
        {"1,,2", -1, "<1-1>"},
        {"1,2 ", -1, "<1-1>"},
        {"0-3,8;9", -1, "<0-3>"},
        {"1-2-3", -1, ""},
        {NULL, 0, ""},
        {"", 0, ""},
        {"0", 1, "<0-0>"},
        {"7,", 1, "<7-7>"},
        {"0-3,8", 5, "<0-3><8-8>"},
        {"8,0-3,2", 6, "<8-8><0-3><2-2>"},
        {"0-65535", 65536, "<0-65535>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        _cleanup_str_ struct str out = STR_INIT;
        ranges_foreach (cases[i].list, r)
            str_printf(&out, "<%lu-%lu>", r.first, r.last);
        assert_string_equal(str_cstr(&out), cases[i].ranges);
        assert_int_equal(ranges_count(cases[i].list), cases[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_of_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
