/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/usage/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void waiting_requests_of_a_user_are_limited(void **state)
{
    struct answer waiting[USAGE_ANSWERS_MAX] = {0};
    struct err err = {0};
    size_t count = 0;

    while (usage_may_wait(waiting, count, 1000, &err))
        waiting[count++].uid = 1000;
    assert_int_equal(count, USAGE_ANSWERS_PER_USER);
    assert_int_equal(err.code, -ERR_BUSY);
    assert_non_null(strstr(err.text, "64 questions of user 1000 about usage wait"));
    for (uid_t uid = 2000; count < USAGE_ANSWERS_MAX; uid++) {
        assert_true(usage_may_wait(waiting, count, uid, &err));
        waiting[count++].uid = uid;
    }
    assert_false(usage_may_wait(waiting, count, 3000, &err));
    assert_int_equal(err.code, -ERR_BUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_requests_of_a_user_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
