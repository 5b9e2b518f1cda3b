/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "base/base_test_util.h"
#include "base/become.h"

#define SOMEBODY 65534

static int to_somebody(void)
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

static int to_a_stranger(void)
{
    if (geteuid() == 0 && become_user(SOMEBODY, SOMEBODY, NULL, 0, NULL))
        return 1;
    return become_user(SOMEBODY - 1, SOMEBODY, NULL, 0, NULL) == 0 ? 2 : 0;
}

static int to_root_again(void)
{
    if (geteuid() == 0 && become_user(SOMEBODY, SOMEBODY, NULL, 0, NULL))
        return 1;
    return become_user(0, 0, NULL, 0, NULL) == 0 ? 2 : 0;
}

static int to_myself(void)
{
    gid_t groups[64];
    int count = getgroups(64, groups);

    return count < 0 || become_user(geteuid(), getegid(), groups, (size_t)count, NULL);
}

static void test_become(void **state)
{
    if (geteuid() == 0)
        assert_int_equal(test_in_child(to_somebody), 0);
    assert_int_equal(test_in_child(to_a_stranger), 0);
    assert_int_equal(test_in_child(to_root_again), 0);
    assert_int_equal(test_in_child(to_myself), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_become)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
