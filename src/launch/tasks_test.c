/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/tasks.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/status.h"

#define EXIT(code) ((code) << 8)
#define CORE 0x80

static void collect_message(void *ctx, bool failed, const char *text)
{
    str_printf(ctx, "%s%s\n", failed ? "! " : "", text);
}

static struct tasks *two_nodes(void) /* tasks 0-3 on n1, 4-5 on n2 */
{
    static const uint32_t node_of[] = {0, 0, 0, 0, 1, 1};
    static const char *const names[] = {"n1", "n2"};

    return tasks_new(6, node_of, names, 2);
}

static void test_repeated_and_unknown_reports_are_ignored(void **state)
{
    struct tasks *t = two_nodes();

    (void)state;
    assert_false(tasks_started(t, 6));
    assert_false(tasks_exited(t, 6, 0));
    assert_true(tasks_exited(t, 1, EXIT(3)));
    assert_false(tasks_exited(t, 1, EXIT(9)));
    assert_false(tasks_lost(t, 1, SIGKILL));
    assert_false(tasks_started(t, 1));
    assert_int_equal(tasks_ended(t), 1);
    assert_int_equal(tasks_exit_code(t), 3);
    tasks_free(t);
}

static void test_ends_of_tasks_are_summarised(void **state)
{
    static const struct {
        const char *what;
        int status[6];
        const char *expect;
        int code;
    } vectors[] = {
        {"all well", {0}, "n1: tasks 0-3: Completed\nn2: tasks 4-5: Completed\n", 0},
        {"one node fails",
         {EXIT(1), EXIT(1), EXIT(1), EXIT(1), 0, 0},
         "! n1: tasks 0-3: Exited with exit code 1\nn2: tasks 4-5: Completed\n",
         1},
        {"different codes, the highest wins",
         {EXIT(1), EXIT(2), EXIT(1), EXIT(1), EXIT(255), EXIT(2)},
         "! n1: tasks 0,2-3: Exited with exit code 1\n! n1: task 1: Exited with exit code 2\n"
         "! n2: task 4: Exited with exit code 255\n! n2: task 5: Exited with exit code 2\n",
         255},
        {"signals",
         {SIGKILL, SIGSEGV | CORE, SIGSEGV, SIGTERM, SIGKILL, EXIT(127)},
         "! n1: task 0: Killed\n! n1: task 1: Segmentation fault (core dumped)\n"
         "! n1: task 2: Segmentation fault\n! n1: task 3: Terminated\n! n2: task 4: Killed\n"
         "! n2: task 5: Exited with exit code 127\n",
         143},
        {"out of memory is the worst there is",
         {EXIT(255), STATUS_OUT_OF_MEMORY, STATUS_OUT_OF_MEMORY, SIGKILL, EXIT(254), 0},
         "! n1: task 0: Exited with exit code 255\n! n1: tasks 1-2: Out Of Memory\n"
         "! n1: task 3: Killed\n! n2: task 4: Exited with exit code 254\nn2: task 5: Completed\n",
         253},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str got = STR_INIT;
        struct tasks *t = two_nodes();

        print_message("%s\n", vectors[i].what);
        for (uint32_t task = 6; task-- > 0;) /* the messages may arrive in any order */
            assert_true(tasks_exited(t, task, vectors[i].status[task]));
        tasks_tell_ends(t, collect_message, &got);
        assert_string_equal(str_cstr(&got), vectors[i].expect);
        assert_int_equal(tasks_exit_code(t), vectors[i].code);
        assert_true(tasks_all_ended(t));
        str_clear(&got);
        tasks_tell_ends(t, collect_message, &got); /* reported only once */
        assert_string_equal(str_cstr(&got), "");
        tasks_free(t);
    }
}

static void test_error_numbers_as_exit_codes(void **state)
{
    static const struct {
        int code, expect;
    } rows[] = {{ENOENT, ENOENT}, {EACCES, EACCES}, {2038, 1}, {2048, 1}, {0, 1}, {-1, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tasks *t = two_nodes();

        assert_true(tasks_failed(t, 2, rows[i].code));
        assert_int_equal(tasks_exit_code(t), rows[i].expect);
        tasks_free(t);
    }
}

static void test_equal_ends_are_reported_once(void **state)
{
    static const int status[] = {3 << 8, 3 << 8, 3 << 8, SIGKILL, SIGKILL, 3 << 8};
    _cleanup_str_ struct str got = STR_INIT;
    struct tasks *t = two_nodes();

    (void)state;
    tasks_tell_once(t);
    for (uint32_t task = 0; task < 6; task++) {
        tasks_exited(t, task, status[task]);
        tasks_tell_ends(t, collect_message, &got);
    }
    assert_string_equal(str_cstr(&got), "! n1: task 0: Exited with exit code 3\n"
                                        "! n1: task 3: Killed\n"
                                        "! n2: task 5: Exited with exit code 3\n");
    tasks_free(t);
}

static void test_states_of_tasks_are_listed(void **state)
{
    _cleanup_str_ struct str got = STR_INIT;
    struct tasks *t = two_nodes();

    (void)state;
    tasks_started(t, 0);
    tasks_started(t, 1);
    tasks_started(t, 4);
    tasks_exited(t, 1, 0);
    tasks_failed(t, 2, 2);
    tasks_lost(t, 5, SIGKILL);
    tasks_tell_states(t, "StepId=7.0", collect_message, &got);
    assert_string_equal(str_cstr(&got), "StepId=7.0 task 3: unknown\n"
                                        "StepId=7.0 tasks 0,4: running\n"
                                        "StepId=7.0 task 2: failed to start\n"
                                        "StepId=7.0 task 1: exited\n"
                                        "StepId=7.0 task 5: lost with their node\n");
    assert_int_equal(tasks_exit_code(t), 137);
    tasks_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated_and_unknown_reports_are_ignored),
        cmocka_unit_test(test_ends_of_tasks_are_summarised),
        cmocka_unit_test(test_error_numbers_as_exit_codes),
        cmocka_unit_test(test_equal_ends_are_reported_once),
        cmocka_unit_test(test_states_of_tasks_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
