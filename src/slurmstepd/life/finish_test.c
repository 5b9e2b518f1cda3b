/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "slurmstepd/life/finish.h"
#include "slurmstepd/task/task.h"

static void test_cancel_message_names_the_reason(void **state)
{
    static const struct {
        const char *what, *why, *line;
    } vectors[] = {
        {"JOB 42", NULL, "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT T ***\n"},
        {"JOB 42", "", "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT T ***\n"},
        {"JOB 42", "CANCELLED", "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT T ***\n"},
        {"STEP 42.0", "TIME LIMIT",
         "slurmstepd: error: *** STEP 42.0 ON n1 CANCELLED AT T DUE TO TIME LIMIT ***\n"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;

        finish_format_cancel(vectors[i].what, "n1", "T", vectors[i].why, &out);
        assert_string_equal(str_cstr(&out), vectors[i].line);
    }
}

static void test_worst_exit_status_counts(void **state)
{
    static const struct {
        int a, b, worse;
    } vectors[] = {
        {0, 0, 0},
        {0, 1 << 8, 1 << 8},
        {3 << 8, 2 << 8, 3 << 8},
        {255 << 8, SIGKILL, 255 << 8},
        {1 << 8, SIGKILL, SIGKILL},
        {SIGKILL, SIGTERM, SIGTERM},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        assert_int_equal(task_worse(vectors[i].a, vectors[i].b), vectors[i].worse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_message_names_the_reason),
        cmocka_unit_test(test_worst_exit_status_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
