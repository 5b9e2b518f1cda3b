/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "slurmstepd/reap.h"

/* A child whose own descendants, one in a session of its own and one that ignores SIGTERM, outlive
 * it; each writes a byte when it is there. */
static void make_family(int ready)
{
    if (fork() == 0) {
        if (fork() == 0) {
            setsid();
            if (write(ready, "a", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            if (write(ready, "b", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        _exit(0);
    }
}

static int reap_until_none(int signo)
{
    int rounds = 0;

    while (reap_have_children() && rounds++ < 100) {
        reap_signal_all(signo);
        if (waitpid(-1, NULL, 0) < 0)
            break;
    }
    return reap_have_children() ? -1 : rounds;
}

static int family(void)
{
    int ends[2];
    char bytes[2];
    size_t got = 0;

    reap_become_subreaper();
    if (reap_have_children() || pipe(ends))
        return 1;
    if (reap_signal_all(SIGKILL) != 0)
        return 2;
    make_family(ends[1]);
    while (got < 2) {
        ssize_t n = read(ends[0], bytes, sizeof(bytes));

        if (n <= 0)
            return 3;
        got += (size_t)n;
    }
    if (!reap_have_children())
        return 4;
    return reap_until_none(SIGKILL) > 0 ? 0 : 5;
}

/* A chain of processes that fork and end: each kill leaves a newer one. */
static int moving_target(void)
{
    reap_become_subreaper();
    if (fork() == 0) {
        for (int i = 0; i < 5000; i++)
            if (fork() != 0)
                _exit(0);
        for (;;)
            pause();
    }
    for (int i = 0; i < 100000 && reap_have_children(); i++) {
        reap_signal_all(SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    return reap_have_children() ? 1 : 0;
}

/* In a process of its own: a subreaper's children are not the test runner's. */
static void run_apart(int (*fn)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(fn());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_family(void **state)
{
    run_apart(family);
}

static void test_moving_target(void **state)
{
    run_apart(moving_target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_family),
        cmocka_unit_test(test_moving_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
