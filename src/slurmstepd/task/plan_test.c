/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "slurmstepd/task/plan.h"

static void assert_same_text(const char *got, const char *want)
{
    if (want)
        assert_string_equal(got, want);
    else
        assert_null(got);
}

static void test_files_of_a_batch_script_are_planned(void **state)
{
    static const struct {
        char *in, *out, *err;
        bool parallel, append;
        const char *paths[3];
        bool truncate[2];
    } vectors[] = {
        {NULL,
         NULL,
         NULL,
         false,
         false,
         {"/dev/null", "/w/slurm-42.out", "/w/slurm-42.out"},
         {true, false}},
        {NULL,
         NULL,
         NULL,
         true,
         false,
         {"/dev/null", "/w/slurm-42.out", "/w/slurm-42.err"},
         {true, true}},
        {NULL, "o", NULL, true, false, {"/dev/null", "/w/o", "/w/o"}, {true, false}},
        {"",
         "",
         "",
         false,
         false,
         {"/dev/null", "/w/slurm-42.out", "/w/slurm-42.out"},
         {true, false}},
        {"in",
         "/abs/%j",
         "%x.err",
         false,
         false,
         {"/w/in", "/abs/42", "/w/jobname.err"},
         {true, true}},
        {NULL, "same", "same", false, true, {"/dev/null", "/w/same", "/w/same"}, {false, false}},
        {NULL,
         "/dev/null",
         NULL,
         false,
         false,
         {"/dev/null", "/dev/null", "/dev/null"},
         {true, false}},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        Pb__StepdStart start = PB__STEPD_START__INIT;
        Pb__LaunchBatch batch = PB__LAUNCH_BATCH__INIT;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        struct step step = {
            .job_id = 42, .step_id = STEP_ID_BATCH, .node = "n1", .start = &start, .batch = &batch};
        struct task task = {.step = &step};
        struct child_plan plan;

        batch.spec = &spec;
        spec.name = "jobname";
        spec.work_dir = "/w";
        spec.std_in = vectors[i].in;
        spec.std_out = vectors[i].out;
        spec.std_err = vectors[i].err;
        spec.has_parallel_command = spec.has_open_append = true;
        spec.parallel_command = vectors[i].parallel;
        spec.open_append = vectors[i].append;
        assert_int_equal(plan_task(&step, &task, &plan, NULL), 0);
        for (int n = 0; n < 3; n++)
            assert_same_text(plan.path[n], vectors[i].paths[n]);
        assert_int_equal(plan.truncate[1], vectors[i].truncate[0]);
        assert_int_equal(plan.truncate[2], vectors[i].truncate[1]);
        plan_done(&plan);
    }
}

static void test_files_of_a_step_are_planned(void **state)
{
    static const struct {
        char *in, *out, *err, *mode;
        uint32_t node_index, local, id;
        const char *paths[3];
        bool truncate[2];
    } vectors[] = {
        {NULL, NULL, NULL, NULL, 0, 0, 0, {NULL, NULL, NULL}, {false, false}},
        {NULL, NULL, NULL, "none", 0, 0, 0, {"/dev/null", NULL, NULL}, {false, false}},
        {NULL, NULL, NULL, "3", 0, 0, 3, {NULL, NULL, NULL}, {false, false}},
        {NULL, NULL, NULL, "3", 0, 0, 2, {"/dev/null", NULL, NULL}, {false, false}},
        {NULL, NULL, NULL, "3x", 0, 0, 3, {"/dev/null", NULL, NULL}, {false, false}},
        {"i%t", "o%t", "e%t", NULL, 1, 1, 4, {"i4", "o4", "e4"}, {true, true}},
        {NULL, "o", "o", NULL, 0, 0, 0, {NULL, "o", "o"}, {true, false}},
        {NULL, "o", "e", NULL, 0, 1, 1, {NULL, "o", "e"}, {false, false}},
        {NULL, "o", NULL, NULL, 1, 0, 2, {NULL, "o", NULL}, {false, false}},
        {NULL, "o%n", "e%N", NULL, 1, 0, 2, {NULL, "o1", "en1"}, {true, true}},
        {NULL, "o%n", "e%N", NULL, 1, 1, 2, {NULL, "o1", "en1"}, {false, false}},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        Pb__StepdStart start = PB__STEPD_START__INIT;
        Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
        struct step step = {.job_id = 42, .node = "n1", .start = &start, .launch = &launch};
        struct task task = {.step = &step};
        struct child_plan plan;

        step.node_index = vectors[i].node_index;
        task.local = vectors[i].local;
        task.id = vectors[i].id;
        launch.std_in = vectors[i].in;
        launch.std_out = vectors[i].out;
        launch.std_err = vectors[i].err;
        launch.std_in_mode = vectors[i].mode;
        launch.work_dir = "/w";
        assert_int_equal(plan_task(&step, &task, &plan, NULL), 0);
        for (int n = 0; n < 3; n++)
            assert_same_text(plan.path[n], vectors[i].paths[n]);
        assert_int_equal(plan.truncate[1], vectors[i].truncate[0]);
        assert_int_equal(plan.truncate[2], vectors[i].truncate[1]);
        plan_done(&plan);
    }
}

/* --open-mode overrides JobFileAppend, for batch scripts and steps alike. */
static void test_append_or_truncate(void **state)
{
    static const struct {
        bool site_given, site, user_given, user, truncate;
    } vectors[] = {
        {false, false, false, false, true}, {true, false, false, false, true},
        {true, true, false, false, false},  {true, true, true, false, true},
        {true, true, true, true, false},    {true, false, true, true, false},
        {false, true, false, true, true}, /* an absent value has no effect */
    };

    for (size_t i = 0; i < 2 * sizeof(vectors) / sizeof(vectors[0]); i++) {
        Pb__StepdStart start = PB__STEPD_START__INIT;
        Pb__LaunchBatch batch = PB__LAUNCH_BATCH__INIT;
        Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        bool is_batch = i % 2;
        struct step step = {.job_id = 42,
                            .node = "n1",
                            .start = &start,
                            .batch = is_batch ? &batch : NULL,
                            .launch = is_batch ? NULL : &launch};
        struct task task = {.step = &step};
        struct child_plan plan;

        batch.spec = &spec;
        spec.std_out = launch.std_out = "o";
        spec.std_err = launch.std_err = "e";
        launch.work_dir = spec.work_dir = "/w";
        start.has_file_append = vectors[i / 2].site_given;
        start.file_append = vectors[i / 2].site;
        spec.has_open_append = launch.has_open_append = vectors[i / 2].user_given;
        spec.open_append = launch.open_append = vectors[i / 2].user;
        assert_int_equal(plan_task(&step, &task, &plan, NULL), 0);
        assert_int_equal(plan.truncate[1], vectors[i / 2].truncate);
        assert_int_equal(plan.truncate[2], vectors[i / 2].truncate);
        plan_done(&plan);
    }
}

static void test_too_long_file_name_is_refused(void **state)
{
    Pb__StepdStart start = PB__STEPD_START__INIT;
    Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
    struct step step = {.node = "n1", .start = &start, .launch = &launch};
    struct task task = {.step = &step};
    struct child_plan plan;
    char name[5000];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    launch.std_out = name;
    assert_int_equal(plan_task(&step, &task, &plan, NULL), -ERR_LIMIT);
    plan_done(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_of_a_batch_script_are_planned),
        cmocka_unit_test(test_files_of_a_step_are_planned),
        cmocka_unit_test(test_append_or_truncate),
        cmocka_unit_test(test_too_long_file_name_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
