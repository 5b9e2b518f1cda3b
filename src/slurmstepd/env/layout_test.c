/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "slurmstepd/env/layout.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void test_counts(void **state)
{
    static const struct {
        uint32_t counts[5];
        size_t nodes;
        const char *text;
    } vectors[] = {
        {{0}, 0, ""},
        {{3}, 1, "3"},
        {{1, 1}, 2, "1(x2)"},
        {{72, 72, 36}, 3, "72(x2),36"},
        {{1, 2, 1, 1, 1}, 5, "1,2,1(x3)"},
    };

    for (size_t i = 0; i < LEN(vectors); i++) {
        _cleanup_str_ struct str out = STR_INIT;

        layout_counts_format(vectors[i].counts, vectors[i].nodes, &out);
        assert_string_equal(str_cstr(&out), vectors[i].text);
    }
}

static void test_mapping(void **state)
{
    static const struct {
        uint32_t node_of[8];
        size_t tasks;
        const char *text;
    } vectors[] = {
        {{0}, 0, "(vector)"},
        {{0}, 1, "(vector,(0,1,1))"},
        {{0, 1}, 2, "(vector,(0,2,1))"},
        {{0, 0, 1, 1}, 4, "(vector,(0,2,2))"},
        {{0, 0, 0, 1}, 4, "(vector,(0,1,3),(1,1,1))"},
        {{0, 1, 2, 0, 1, 2}, 6, "(vector,(0,3,1))"},
        {{0, 1, 0}, 3, "(vector,(0,2,1),(0,1,1))"},
        {{1, 0, 1, 0}, 4, "(vector,(1,1,1),(0,2,1),(0,1,1))"},
    };

    for (size_t i = 0; i < LEN(vectors); i++) {
        _cleanup_str_ struct str out = STR_INIT;

        layout_mapping_format(vectors[i].node_of, vectors[i].tasks, &out);
        assert_string_equal(str_cstr(&out), vectors[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_mapping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
