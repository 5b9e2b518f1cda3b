/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/step_id.h"

#include "slurmd/attempt/cancelled.h"

static void test_only_the_very_step(void **state)
{
    static const struct cancelled_step others[] = {
        {5, 0, 2}, {5, 1, 1}, {6, 0, 1}, {0, 0, 0}, {5, 0, STEP_ID_BATCH}};
    struct cancelled_step s = {5, 0, 1};
    struct cancelled c = {0};

    assert_false(cancelled_has(&c, &s));
    assert_true(cancelled_add(&c, &s));
    assert_true(cancelled_has(&c, &s));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(cancelled_has(&c, &others[i]));
    assert_false(cancelled_add(&c, &s));
    assert_int_equal(c.list.len, 1);
    cancelled_done(&c);
}

static void test_the_oldest_goes(void **state)
{
    struct cancelled c = {0};

    for (uint32_t i = 0; i < 3 * CANCELLED_MAX; i++) {
        struct cancelled_step s = {i, 0, 0}, oldest = {i - CANCELLED_MAX, 0, 0},
                              next = {i - CANCELLED_MAX + 1, 0, 0};

        assert_true(cancelled_add(&c, &s));
        assert_true(cancelled_has(&c, &s));
        if (i < CANCELLED_MAX)
            continue;
        assert_false(cancelled_has(&c, &oldest));
        assert_true(cancelled_has(&c, &next));
    }
    assert_int_equal(c.list.len, CANCELLED_MAX);
    cancelled_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_very_step),
        cmocka_unit_test(test_the_oldest_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
