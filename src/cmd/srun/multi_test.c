/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/multi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } vectors[] = {
        {"", "for task 0"},
        {"0 a\n", "for task 1"},
        {"0-2\n", "line 1: no program"},
        {"# fine\nx a\n* b\n", "line 2: \"x\""},
        {"0, a\n0 b", "line 2: task 0 has a program already"},
        {"2-1 a\n", "line 1: \"2-1\""},
        {"0-99999999999999999999 a\n", "line 1:"},
        {"0-1-2 a\n", "line 1:"},
        {"0-1 \\\n\na\n", "line 1: no program"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        struct err err = {0};

        assert_int_equal(multi_format(vectors[i].text, 3, &out, &err), -ERR_PARSE);
        if (strstr(err.text, vectors[i].says) == NULL)
            fail_msg("%s: %s", vectors[i].text, err.text);
    }
}

static void test_formats(void **state)
{
    static const struct {
        uint32_t tasks;
        const char *text, *expect;
    } vectors[] = {
        {1, "0 a", "0) start 'a' \"$@\";;\n"},
        {2, "# c\n\n1 b %t %o 'x %t'y\n* a \\\n  z",
         "1) start 'b' '1' '0' 'x %ty' \"$@\";;\n"
         "0) start 'a' 'z' \"$@\";;\n"},
        {4, "0,2-3 o%o\n1\tt%t\n5-9 beyond",
         "0) start 'o0' \"$@\";;\n2) start 'o1' \"$@\";;\n"
         "3) start 'o2' \"$@\";;\n1) start 't1' \"$@\";;\n"},
        {1, "0 a\\'b 'c", "0) start 'a'\\''b' 'c' \"$@\";;\n"},
        {1, "0 a $(b) `c` \"d", "0) start 'a' '$(b)' '`c`' '\"d' \"$@\";;\n"}, /* nothing expands */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT, expect = STR_INIT;
        struct err err = {0};

        str_printf(&expect, "case $SLURM_PROCID in\n%sesac\n", vectors[i].expect);
        assert_int_equal(multi_format(vectors[i].text, vectors[i].tasks, &out, &err), 0);
        const char *arms = strstr(str_cstr(&out), "case $SLURM_PROCID");
        assert_non_null(arms);
        assert_string_equal(arms, str_cstr(&expect));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
