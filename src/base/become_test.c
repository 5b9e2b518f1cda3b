/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "base/base_test_util.h"
#include "base/become.h"

#define SOMEBODY 65534

static int become_somebody(void)
{
    gid_t groups[] = {SOMEBODY, 12345}, have[8];
    struct err err = {0};

    if (become_user(SOMEBODY, SOMEBODY, groups, 2, &err))
        return 1;
    if (getuid() != SOMEBODY || geteuid() != SOMEBODY || getegid() != SOMEBODY)
        return 2;
    if (getgroups(8, have) != 2)
        return 3;
    return setuid(0) ? 0 : 4; /* no way back */
}

static int become_unknown_user(void)
{
    if (geteuid() == 0 && become_user(SOMEBODY, SOMEBODY, NULL, 0, NULL))
        return 1;
    return become_user(SOMEBODY - 1, SOMEBODY, NULL, 0, NULL) == 0 ? 2 : 0;
}

static int return_to_root(void)
{
    if (geteuid() == 0 && become_user(SOMEBODY, SOMEBODY, NULL, 0, NULL))
        return 1;
    return become_user(0, 0, NULL, 0, NULL) == 0 ? 2 : 0;
}

static int become_own_user(void)
{
    gid_t groups[64];
    int count = getgroups(64, groups);

    return count < 0 || become_user(geteuid(), getegid(), groups, (size_t)count, NULL);
}

static void test_process_becomes_another_user_for_good(void **state)
{
    if (geteuid() == 0)
        assert_int_equal(test_in_child(become_somebody), 0);
    assert_int_equal(test_in_child(become_unknown_user), 0);
    assert_int_equal(test_in_child(return_to_root), 0);
    assert_int_equal(test_in_child(become_own_user), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_becomes_another_user_for_good)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
