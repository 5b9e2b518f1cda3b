/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cast/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"

/* CORE-225: the groups are the list, in order, none empty, and of one size or nearly. */
static void groups_are_the_list(void **state)
{
    for (size_t count = 1; count < 200; count++)
        for (size_t width = 1; width <= CAST_WIDTH_MAX; width++) {
            size_t at = 0, groups = cast_tree_groups(count, width);

            assert_true(groups >= 1 && groups <= width && groups <= count);
            for (size_t i = 0; i < groups; i++) {
                struct cast_range r = cast_tree_group(count, width, i);

                assert_int_equal(r.first, at);
                assert_true(r.count >= count / groups && r.count <= count / groups + 1);
                at += r.count;
            }
            assert_int_equal(at, count);
        }
}

static unsigned depth_of(size_t count, size_t width)
{
    unsigned most = 0;

    for (size_t i = 0; count && i < cast_tree_groups(count, width); i++) {
        unsigned depth = 1 + depth_of(cast_tree_group(count, width, i).count - 1, width);

        most = depth > most ? depth : most;
    }
    return most;
}

/* CORE-225: as deep as the logarithm of the number. */
static void a_tree_is_not_deep(void **state)
{
    assert_int_equal(depth_of(0, 2), 0);
    assert_int_equal(depth_of(16, 1), 16);
    assert_int_equal(depth_of(14, 2), 3);
    assert_int_equal(depth_of(64, 16), 2);
    assert_true(depth_of(10000, 2) <= 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_the_list),
        cmocka_unit_test(a_tree_is_not_deep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
