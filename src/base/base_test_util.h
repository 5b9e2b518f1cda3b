/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of any room: what cannot be taken back is done in a process of its own. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The exit status of a child that runs fn(). */
static inline int test_in_child(int (*fn)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(fn());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* fn() says where it failed; 0: nowhere. */
static inline void test_run_apart(int (*fn)(void))
{
    assert_int_equal(test_in_child(fn), 0);
}
