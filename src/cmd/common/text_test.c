/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cmd/common/text.h"

static void test_escape(void **state)
{
    static const struct {
        const char *in, *out;
    } v[] = {
        {"", ""},
        {"plain", "plain"},
        {"a\033[31mb", "a\\033[31mb"},
        {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
        {"\177", "\\177"},
        {"\001", "\\001"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xc2\x9b"
         "31m",
         "\\23331m"}, /* a one-character CSI */
        {"\xc2", "\xc2"},
        {"\xff", "\xff"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        text_escape(v[i].in, &out);
        assert_string_equal(str_cstr(&out), v[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_escape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
