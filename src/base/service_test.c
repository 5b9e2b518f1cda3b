/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base_test_util.h"
#include "base/service.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int close_inherited_descriptors(void)
{
    if (dup2(1, 3) < 0 || dup2(1, 4) < 0 || dup2(1, 200) < 0)
        return 1;
    if (fd_begin(4) < 0)
        return 2;
    for (int fd = 0; fd < 4; fd++)
        if (!is_open(fd))
            return 3;
    for (int fd = 4; fd < 256; fd++)
        if (is_open(fd))
            return 4;
    return 0;
}

static int open_standard_descriptors(void)
{
    close(0);
    close(2);
    if (fd_begin(3) < 0)
        return 1;
    for (int fd = 0; fd < 256; fd++)
        if (is_open(fd) != (fd < 3))
            return 2;
    return write(2, "x", 1) == 1 && read(0, (char[1]){0}, 1) == 0 ? 0 : 3;
}

static int raise_descriptor_limit(void)
{
    struct rlimit l = {100, 150};

    if (setrlimit(RLIMIT_NOFILE, &l))
        return 1;
    if (fd_raise_limit(120) != 100)
        return 5;
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur != 120)
        return 2;
    fd_raise_limit(110); /* never lowers */
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur != 120)
        return 3;
    fd_raise_limit(1000);
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur != 150)
        return 4;
    fd_set_limit(100);
    return getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur != 100 || l.rlim_max != 150 ? 6 : 0;
}

static void test_descriptors_are_closed(void **state)
{
    test_run_apart(close_inherited_descriptors);
}
static void test_standard_descriptors_are_opened(void **state)
{
    test_run_apart(open_standard_descriptors);
}
static void test_descriptor_limit_is_raised(void **state)
{
    test_run_apart(raise_descriptor_limit);
}

static rlim_t get_soft_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_CORE, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

/* Runs in a child process: returns 0, or the number of the first failed check. */
static int check_forbidden(void)
{
    rlim_t before = get_soft_limit();

    if (dump_forbid() != before)
        return 1;
    if (get_soft_limit() != 0)
        return 2;
    if (prctl(PR_GET_DUMPABLE) != (geteuid() != 0))
        return 3;
    dump_set_limit(before);
    return get_soft_limit() == before ? 0 : 4;
}

static void forbidden_dumps_leave_the_limit_restorable(void **state)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(check_forbidden());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Runs in a child process, without a core file. */
static int end_fatally(const char *wanted)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        wanted ? setenv("ABORT_ON_FATAL", wanted, 1) : unsetenv("ABORT_ON_FATAL");
        _exit(dump_on_fatal(7));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void abort_on_fatal_aborts(void **state)
{
    assert_int_equal(WEXITSTATUS(end_fatally(NULL)), 7);
    assert_int_equal(WTERMSIG(end_fatally("1")), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_descriptors_are_closed),
                                       cmocka_unit_test(test_standard_descriptors_are_opened),
                                       cmocka_unit_test(test_descriptor_limit_is_raised),
                                       cmocka_unit_test(forbidden_dumps_leave_the_limit_restorable),
                                       cmocka_unit_test(abort_on_fatal_aborts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
