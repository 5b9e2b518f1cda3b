/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base_test_util.h"
#include "base/mem.h"
#include "base/proc.h"

/* A child with a child of its own, which has written its pid. */
static pid_t start_two_generations(pid_t *grandchild)
{
    int ends[2];
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        pid_t below = fork();

        if (below > 0 && write(ends[1], &below, sizeof(below)) != sizeof(below))
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], grandchild, sizeof(*grandchild)), sizeof(*grandchild));
    close(ends[0]);
    close(ends[1]);
    return child;
}

static void test_descendants_and_children_are_found(void **state)
{
    struct kin_list all = {0}, children = {0};
    pid_t below, child = start_two_generations(&below);

    kin_below(&all, getpid());
    kin_children(&children, getpid());
    assert_int_equal(all.list.len, 2);
    assert_int_equal(all.list.data[0].pid, child);
    assert_int_equal(all.list.data[0].parent, getpid());
    assert_int_equal(all.list.data[1].pid, below);
    assert_int_equal(all.list.data[1].parent, child);
    assert_int_equal(children.list.len, 1);

    assert_true(kin_signal(&all.list.data[0], getpid(), SIGKILL));
    assert_int_equal(waitpid(child, NULL, 0), child);
    /* Its parent has gone: it belongs to the root now, and is still found. */
    assert_true(kin_signal(&all.list.data[1], getpid(), SIGKILL));
    assert_int_equal(waitpid(below, NULL, 0), below);
    assert_false(kin_signal(&all.list.data[1], getpid(), SIGKILL));
    vec_done(&all.list);
    vec_done(&children.list);
}

static void test_process_of_another_parent_gets_no_signal(void **state)
{
    pid_t below, child = start_two_generations(&below);
    struct kin other = {below, getppid()};

    assert_false(kin_signal(&other, getppid(), SIGKILL));
    assert_int_equal(kill(below, 0), 0);
    kill(below, SIGKILL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    waitpid(below, NULL, 0);
}

static int signal_without_handles(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    if (!test_without_handles())
        return 1;
    bool stranger = kin_signal(&(struct kin){child, 1}, 1, SIGKILL);
    bool own = kin_signal(&(struct kin){child, getpid()}, 1, SIGKILL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return stranger || !own ? 2 : 0;
}

static void test_signals_work_without_pidfds(void **state)
{
    test_run_apart(signal_without_handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descendants_and_children_are_found),
        cmocka_unit_test(test_process_of_another_parent_gets_no_signal),
        cmocka_unit_test(test_signals_work_without_pidfds)};

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
