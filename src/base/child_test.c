/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/child.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base_test_util.h"

/* The exit status of a shell script. */
static int run(const char *script, bool session)
{
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;

    posix_spawn_file_actions_init(&actions);
    assert_int_equal(child_start(&pid, "/bin/sh", &actions, session, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void missing(void **state)
{
    char *const argv[] = {"none", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;

    posix_spawn_file_actions_init(&actions);
    assert_int_equal(child_start(&pid, "/nowhere/none", &actions, false, argv, environ), ENOENT);
    assert_int_equal(pid, -1);
}

/* The program does not inherit the caller's blocked and ignored signals. */
static void signals(void **state)
{
    static const char script[] = "kill -INT $$; kill -TERM $$; exit 3";
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    posix_spawn_file_actions_t actions;
    sigset_t blocked, before;
    pid_t pid;
    int status;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGINT, SIG_IGN);
    posix_spawn_file_actions_init(&actions);
    assert_int_equal(child_start(&pid, "/bin/sh", &actions, false, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    signal(SIGINT, SIG_DFL);
    assert_int_equal(run("trap 'exit 4' TERM; kill -TERM $$; exit 3", false), 4);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A session leader is its own process group; without 'session' it is not. */
static void session(void **state)
{
    static const char leads[] = "set -- $(cat /proc/$$/stat); [ $$ = $6 ]";

    assert_int_equal(run(leads, true), 0);
    assert_int_equal(run(leads, false), 1);
}

/* A child that ends, a stopped child, and the end of that child. */
static int await_children(void)
{
    int status = 0;
    pid_t ended = fork(), stopped;

    if (ended == 0)
        _exit(3);
    if (!child_await(ended, 60000, &status) || status != 3 << 8 || waitpid(ended, NULL, 0) != -1)
        return 1;
    stopped = fork();
    if (stopped == 0)
        for (;;)
            pause();
    kill(stopped, SIGSTOP);
    if (child_await(stopped, 0, &status) || child_await(stopped, 50, &status))
        return 2;
    kill(stopped, SIGKILL);
    return child_await(stopped, 60000, &status) && WTERMSIG(status) == SIGKILL ? 0 : 3;
}

static int await_without_handles(void)
{
    return test_without_handles() ? await_children() : 9;
}

static void child_that_does_not_end_in_time_is_told(void **state)
{
    test_run_apart(await_children);
    test_run_apart(await_without_handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing),
        cmocka_unit_test(signals),
        cmocka_unit_test(session),
        cmocka_unit_test(child_that_does_not_end_in_time_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
