/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/proc.h"

#define TAIL                                                                                       \
    " S 7 4711 4700 0 -1 4194560 131 0 1 3 11 12 13 14 20 0 1 0 987654 5890048 250 "               \
    "18446744073709551615 94 0 0\n"

static void test_bad_text(void **state)
{
    static const char *const bad[] = {
        "",
        "\n",
        "4711",
        "4711 sh S 7",
        "4711 )sh( S 7",
        "(sh)" TAIL,
        "x (sh)" TAIL,
        "4711 (sh)",
        "4711 (sh) S",
        "4711 (sh) S seven 1 1 0 -1 1 1 0 1 0 11 12 13 14 20 0 1 0 987654 5890048 250",
        "4711 (sh) S 7 1 1 0 -1 1 1 0 1 0 11 12 13 14 20 0 1 0 987654 5890048",
        "4711 (sh) S 7 1 1 0 -1 1 1 0 1 0 11 12 13 14 20 0 1 0 987654 5890048 x",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct proc p = {.pid = 99};

        assert_int_equal(proc_parse(bad[i], &p), -ERR_PARSE);
        assert_int_equal(p.pid, 99);
    }
}

static void test_names(void **state)
{
    static const struct {
        const char *text, *name;
    } vectors[] = {
        {"4711 (sh)" TAIL, "sh"},
        {"4711 ()" TAIL, ""},
        {"4711 (a b)" TAIL, "a b"},
        {"4711 (:-))" TAIL, ":-)"},
        {"4711 (() R 1)" TAIL, "() R 1"},
        {"4711 (123456789012345678901234567890123456789012345678901234567890123456789)" TAIL,
         "123456789012345678901234567890123456789012345678901234567890123"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct proc p;

        assert_int_equal(proc_parse(vectors[i].text, &p), 0);
        assert_string_equal(p.name, vectors[i].name);
        assert_true(p.pid == 4711 && p.parent == 7 && p.session == 4700 && p.state == 'S');
        assert_true(p.faults == 1 && p.waited_faults == 3);
        assert_true(p.user_ticks == 11 && p.sys_ticks == 12);
        assert_true(p.waited_user_ticks == 13 && p.waited_sys_ticks == 14);
        assert_true(p.started_ticks == 987654 && p.vsize_bytes == 5890048 && p.rss_pages == 250);
    }
}

static void test_negative_counters(void **state)
{
    struct proc p;

    assert_int_equal(proc_parse("9 (x) R 1 9 9 0 -1 0 1 0 1 -3 11 12 -13 -14 20 0 1 0 5 6 7", &p),
                     0);
    assert_true(!p.waited_faults && !p.waited_user_ticks && !p.waited_sys_ticks);
}

static void test_io_text(void **state)
{
    static const struct {
        const char *text;
        uint64_t read, written;
    } vectors[] = {
        {"", 0, 0},
        {"read_bytes: ", 0, 0},
        {"read_bytes: -5\nwrite_bytes: x\n", 0, 0},
        {"read_bytes: 99999999999999999999999\n", UINT64_MAX, 0},
        {"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
         "cancelled_write_bytes: 7\n",
         5, 6},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint64_t read = 1, written = 1;

        proc_parse_io(vectors[i].text, &read, &written);
        assert_true(read == vectors[i].read && written == vectors[i].written);
    }
}

static void test_nobody(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    uint64_t bytes;
    struct proc p;
    uid_t uid;

    assert_int_equal(proc_read(-1, &p), -ENOENT);
    assert_int_equal(proc_read_owned(-1, &p, &uid), -ENOENT);
    assert_int_equal(proc_read_io(-1, &bytes, &bytes), -ENOENT);
    proc_describe(-1, &out);
    assert_int_equal(out.len, 0);
}

static int look_for(void *ctx, pid_t pid)
{
    return pid == *(pid_t *)ctx ? 17 : 0;
}

static void test_ourselves(void **state)
{
    pid_t us = getpid(), nobody = -1;
    uint64_t read, written;
    struct proc p;
    uid_t uid;

    assert_int_equal(proc_read(us, &p), 0);
    assert_true(p.pid == us && p.parent == getppid() && p.state == 'R');
    assert_true(p.vsize_bytes > 0 && p.rss_pages > 0 && p.started_ticks > 0);
    assert_int_equal(proc_read_owned(us, &p, &uid), 0);
    assert_true(p.pid == us && uid == geteuid() && p.session == getsid(0));
    assert_int_equal(proc_read_io(us, &read, &written), 0);
    assert_int_equal(proc_each(look_for, &us), 17);
    assert_int_equal(proc_each(look_for, &nobody), 0);
}

static void test_description(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    _cleanup_free_ char *want = NULL;
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_NAME, "a (b\nc");
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    proc_describe(pid, &out);
    want = mem_printf("pid %d (a?(b?c) state Z, wchan ", (int)pid);
    assert_true(str_starts(str_cstr(&out), want));
    assert_null(strstr(str_cstr(&out), "traced"));
    waitpid(pid, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_negative_counters),
        cmocka_unit_test(test_io_text),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_ourselves),
        cmocka_unit_test(test_description),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
