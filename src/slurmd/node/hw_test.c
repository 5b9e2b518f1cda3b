/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "slurmd/node/hw.h"

static void test_this_machine(void **state)
{
    struct hw hw = {0};

    assert_int_equal(hw_detect("/no/such/place", &hw, NULL), 0);
    assert_int_equal(hw.tmp_disk_mib, 0);
    assert_int_equal(hw_detect("/tmp", &hw, NULL), 0);
    assert_int_equal(hw.boards, 1);
    assert_true(hw.cpus >= 1 && hw.sockets >= 1 && hw.cores >= 1 && hw.threads >= 1);
    assert_true(hw.sockets * hw.cores * hw.threads <= hw.cpus);
    assert_true(hw.real_memory_mib > 0 && hw.tmp_disk_mib > 0);
    assert_false(hw_changed("/tmp", &hw));
    hw.real_memory_mib--;
    assert_true(hw_changed("/tmp", &hw));
}

static void test_format(void **state)
{
    static const struct {
        int64_t up;
        const char *text;
    } vectors[] = {
        {0, "UpTime=0-00:00:00\n"},
        {59, "UpTime=0-00:00:59\n"},
        {86399, "UpTime=0-23:59:59\n"},
        {86400 * 400 + 3661, "UpTime=400-01:01:01\n"},
    };
    struct hw hw = {16, 1, 2, 4, 2, 64000, 99, 16};

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct str out = STR_INIT;
        struct str want = STR_INIT;

        hw_format(&hw, "lx1", vectors[i].up, &out);
        str_printf(&want,
                   "NodeName=lx1 CPUs=16 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 "
                   "ThreadsPerCore=2 RealMemory=64000\n%s",
                   vectors[i].text);
        assert_string_equal(str_cstr(&out), str_cstr(&want));
        str_done(&out);
        str_done(&want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
