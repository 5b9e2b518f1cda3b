/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/dump.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static rlim_t soft_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_CORE, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

/* Runs in a child process: returns 0, or the number of the first failed check. */
static int check_forbidden(void)
{
    rlim_t before = soft_limit();

    if (dump_forbid() != before)
        return 1;
    if (soft_limit() != 0)
        return 2;
    if (prctl(PR_GET_DUMPABLE) != (geteuid() != 0))
        return 3;
    dump_set_limit(before);
    return soft_limit() == before ? 0 : 4;
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forbidden_dumps_leave_the_limit_restorable),
        cmocka_unit_test(abort_on_fatal_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
