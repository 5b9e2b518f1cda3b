/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/step_id.h"
#include "base/timefmt.h"
#include "conf/conf_tres.h"
#include "show/job_ids.h"
#include "show/job_state.h"

static void test_step_ids_are_parsed(void **state)
{
    static const char *const bad[] = {"",     "x",   "0",  "1.x",         "1.",    ".1", "-1",
                                      "1.-1", "1 2", "+1", "99999999999", "1.2.3", "2_"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        Pb__StepId id = PB__STEP_ID__INIT;
        struct err err = {0};
        assert_true(job_ids_parse(bad[i], &id, &err) < 0);
        assert_non_null(strstr(err.text, "Invalid job id"));
    }
    static const struct {
        const char *text;
        bool step;
    } good[] = {{"7", false}, {"7.0", true}, {"7.12", true}, {"7.batch", true}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        Pb__StepId id = PB__STEP_ID__INIT;
        char buf[STEP_ID_TEXT_MAX];
        assert_int_equal(job_ids_parse(good[i].text, &id, NULL), 0);
        assert_int_equal(id.job_id, 7);
        assert_int_equal(id.has_step_id, good[i].step);
        if (good[i].step)
            assert_string_equal(step_id_text(id.job_id, id.step_id, buf), good[i].text);
    }
}

static void test_state_lists_are_parsed(void **state)
{
    struct job_states s = {0};
    struct err err = {0};
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    assert_true(job_states_parse("RUNNING,FOO", &s, &err) < 0);
    assert_string_equal(err.text, "Invalid job state specified: FOO");

    _cleanup_str_ struct str names = STR_INIT;
    job_states_list(&names);
    assert_int_equal(job_states_parse(str_cstr(&names), &s, &err), 0);
    assert_non_null(strstr(str_cstr(&names), "OUT_OF_MEMORY,RESIZING,RESV_DEL_HOLD,REQUEUED,"));

    static const struct {
        const char *list;
        Pb__JobState is;
        bool completing, match, configuring, special_exit, stopped;
    } v[] = {
        {"RUN", PB__JOB_STATE__RUNNING, false, true},
        {"r", PB__JOB_STATE__RUNNING, false, true},
        {"pd,R", PB__JOB_STATE__PENDING, false, true},
        {"pd,R", PB__JOB_STATE__COMPLETED, false, false},
        {"all", PB__JOB_STATE__FAILED, false, true},
        {"CG", PB__JOB_STATE__FAILED, true, true},
        {"CG", PB__JOB_STATE__FAILED, false, false},
        {"F", PB__JOB_STATE__FAILED, true, false},
        {"F", PB__JOB_STATE__FAILED, false, true},
        {"CONFIGURING", PB__JOB_STATE__RUNNING, false, false, false},
        {"CONFIGURING", PB__JOB_STATE__RUNNING, false, true, true},
        {"cf", PB__JOB_STATE__RUNNING, false, true, true},
        {"R", PB__JOB_STATE__RUNNING, false, false, true},
        {"R,CF", PB__JOB_STATE__RUNNING, false, true, true},
        {"PD", PB__JOB_STATE__PENDING, false, false, false, true},
        {"SE", PB__JOB_STATE__PENDING, false, true, false, true},
        {"R", PB__JOB_STATE__RUNNING, false, false, false, false, true},
        {"st", PB__JOB_STATE__RUNNING, false, true, false, false, true},
        {"PD,CF", PB__JOB_STATE__PENDING, false, true, false},
        {"CF", PB__JOB_STATE__RUNNING, true, false, true}, /* shown as COMPLETING */
        {"CG,CF", PB__JOB_STATE__RUNNING, true, true, true},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        s = (struct job_states){0};
        assert_int_equal(job_states_parse(v[i].list, &s, NULL), 0);
        live.state = v[i].is;
        live.completing = v[i].completing;
        live.configuring = v[i].configuring;
        live.special_exit = v[i].special_exit;
        live.stopped = v[i].stopped;
        assert_int_equal(job_states_match(&s, &live), v[i].match);
    }
}

/* GPUs that the options of a request ask for. */
static void test_gpus_that_a_request_asks_for(void **state)
{
    static const struct {
        uint32_t tasks, per_gpu;
        const char *gres, *per_job, *text, *per_task;
    } v[] = {
        {4, 0, NULL, NULL, "cpu=4,node=1,billing=4,gres/gpu=4", "gres:gpu:1"},
        {4, 0, "gres:gpu:2", NULL, "cpu=4,node=2,billing=4,gres/gpu=4", "gres:gpu:1"},
        {3, 0, "gres:gpu:2", NULL, "cpu=4,node=2,billing=4,gres/gpu=4", "gres:gpu:1"},
        {4, 0, "gres:nic:2", NULL, "cpu=4,node=1,billing=4,gres/nic=2,gres/gpu=4", "gres:gpu:1"},
        {4, 0, "gres:gpu:a:4", NULL, "cpu=4,node=1,billing=4,gres/gpu=4", "gres:gpu"},
        {2, 0, "gres:gpu:a:1", NULL, "cpu=4,node=2,billing=4,gres/gpu=4", "gres:gpu:b:1"},
        {4, 0, NULL, NULL, "cpu=4,node=1,billing=4"},
        {4, 2, NULL, NULL, "cpu=4,node=1,billing=4,gres/gpu=2"},
        {5, 2, NULL, NULL, "cpu=4,node=1,billing=4,gres/gpu=3"},
        {4, 2, NULL, "gres:gpu:4", "cpu=4,node=1,billing=4,gres/gpu=4"},
        {4, 2, "gres:gpu:1", NULL, "cpu=4,node=2,billing=4,gres/gpu=2"},
        {8, 1, "gres:gpu:2", NULL, "cpu=4,node=4,billing=4,gres/gpu=8"},
        {8, 1, "gres:gpu:2", "gres:gpu:4", "cpu=4,node=2,billing=4,gres/gpu=4"},
        {4, 2, "gres:nic:1", NULL, "cpu=4,node=1,billing=4,gres/nic=1,gres/gpu=2"},
        {4, 2, "gres:nic:1", "gres:gpu:4", "cpu=4,node=1,billing=4,gres/nic=1,gres/gpu=4"},
        {4, 0, "gres:gpu:2", "gres:gpu:4", "cpu=4,node=2,billing=4,gres/gpu=4"},
        {4, 0, "gres:gpu:2", "gres:gpu:5", "cpu=4,node=3,billing=4,gres/gpu=6"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        Pb__JobRecord job = PB__JOB_RECORD__INIT;
        _cleanup_str_ struct str out = STR_INIT;
        job.live = &live;
        job.spec = &spec;
        live.state = PB__JOB_STATE__PENDING;
        live.num_nodes = 1;
        live.num_cpus = 4;
        spec.num_tasks = v[i].tasks;
        spec.ntasks_per_gpu = v[i].per_gpu;
        spec.gres = (char *)v[i].gres;
        spec.tres_per_job = (char *)v[i].per_job;
        spec.tres_per_task = (char *)v[i].per_task;
        assert_true(job_state_put_tres(&job, false, &out));
        assert_string_equal(str_cstr(&out), v[i].text);
    }
}

/* TRESBillingWeights of the partition, and PriorityFlags=MAX_TRES and MAX_TRES_GRES. */
static void test_billing_follows_weights_and_flags(void **state)
{
    static const struct {
        const char *weights;
        enum conf_billing rule;
        double allocated;
        const char *wanted;
    } v[] = {
        {NULL, CONF_BILLING_SUM, 4, "cpu=2,mem=512M,node=1,billing=2,gres/gpu=2"},
        {"CPU=1.0", CONF_BILLING_SUM, 4, "cpu=2,mem=512M,node=1,billing=2,gres/gpu=2"},
        {"CPU=1.5,Mem=0.25G,GRES/gpu=2.0", CONF_BILLING_SUM, 10.5,
         "cpu=2,mem=512M,node=1,billing=7,gres/gpu=2"}, /* 7.125 */
        {"CPU=1.5,Mem=2g,GRES/gpu=2.0", CONF_BILLING_MAX, 6,
         "cpu=2,mem=512M,node=1,billing=4,gres/gpu=2"},
        {"CPU=1.5,Mem=4G,gres/gpu=2", CONF_BILLING_MAX_GRES, 12,
         "cpu=2,mem=512M,node=1,billing=7,gres/gpu=2"},
        {"mem=1,license/matlab=10", CONF_BILLING_MAX, 2048 + 30,
         "cpu=2,mem=512M,node=1,billing=542,gres/gpu=2"},
        {"gres/gpu:a100=5,node=3", CONF_BILLING_SUM, 13,
         "cpu=2,mem=512M,node=1,billing=3,gres/gpu=2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        Pb__JobRecord job = PB__JOB_RECORD__INIT;
        Pb__NodeAlloc node = PB__NODE_ALLOC__INIT, *nodes[] = {&node};
        Pb__GresAlloc gpus = PB__GRES_ALLOC__INIT, *gres[] = {&gpus};
        _cleanup_str_ struct str out = STR_INIT;
        job.live = &live;
        job.spec = &spec;
        gpus.name = (char *)"gpu";
        gpus.type = (char *)"a100";
        gpus.count = 2;
        node.n_gres = 1;
        node.gres = gres;
        live.n_alloc = 1;
        live.alloc = nodes;
        live.state = PB__JOB_STATE__RUNNING;
        live.num_nodes = 1;
        live.num_cpus = 4;
        live.has_wanted_cpus = true;
        live.wanted_cpus = 2;
        live.mem_mib = 2048;
        live.billing_weights = (char *)v[i].weights;
        live.billing_rule = v[i].rule;
        spec.has_mem_per_node_mib = true;
        spec.mem_per_node_mib = 512;
        spec.licenses = (char *)"matlab:3,ansys";
        spec.gres = (char *)"gres:gpu:2";
        assert_true(job_state_find_billing(&job) == v[i].allocated);
        assert_true(job_state_put_tres(&job, false, &out));
        assert_string_equal(str_cstr(&out), v[i].wanted);
    }
}

static void test_states_have_words(void **state)
{
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    live.state = PB__JOB_STATE__RUNNING;
    live.configuring = true;
    assert_string_equal(job_state_word(&live), "CONFIGURING");
    assert_string_equal(job_state_short(&live), "CF");
    live.configuring = false;
    live.state = PB__JOB_STATE__CANCELLED;
    assert_string_equal(job_state_word(&live), "CANCELLED");
    assert_string_equal(job_state_short(&live), "CA");
    assert_string_equal(job_state_reason(&live), "None");
    live.completing = true;
    assert_string_equal(job_state_word(&live), "COMPLETING");
    assert_string_equal(job_state_short(&live), "CG");
    live.state = (Pb__JobState)77; /* of a newer controller */
    live.completing = false;
    assert_string_equal(job_state_word(&live), "UNKNOWN");
}

static void test_run_and_pending_times_are_computed(void **state)
{
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobRecord job = PB__JOB_RECORD__INIT;
    job.live = &live;
    job.spec = &spec;
    live.time_limit_sec = 600;
    live.submit_at = live.eligible_at = 700;
    spec.begin_at_sec = 800;
    assert_int_equal(job_state_accrue_at(&live), 0);    /* held */
    assert_int_equal(job_state_eligible_at(&job), 700); /* with --begin */
    live.dependency = (char *)"afterok:1";
    assert_int_equal(job_state_eligible_at(&job), 0);
    live.dependency = NULL;
    spec.begin_at_sec = 0;
    assert_int_equal(job_state_eligible_at(&job), 0);
    spec.begin_at_sec = 800;
    assert_int_equal(job_state_start_at(&job), 0);
    live.priority = 9;
    assert_int_equal(job_state_accrue_at(&live), 700);
    assert_int_equal(job_state_start_at(&job), 800);
    assert_int_equal(job_state_end_at(&job), 1400);
    spec.begin_at_sec = 0;
    assert_int_equal(job_state_used_sec(&live, 1000), 0);
    assert_int_equal(job_state_left_sec(&live, 1000), 600);
    assert_int_equal(job_state_end_at(&job), 0);
    live.state = PB__JOB_STATE__RUNNING;
    live.start_at = 900;
    assert_int_equal(job_state_used_sec(&live, 1000), 100);
    assert_int_equal(job_state_used_sec(&live, 800), 0); /* clocks differ */
    assert_int_equal(job_state_left_sec(&live, 1000), 500);
    assert_int_equal(job_state_left_sec(&live, 1505), -5);
    assert_int_equal(job_state_end_at(&job), 1500);
    live.state = PB__JOB_STATE__SUSPENDED;
    live.suspended_at = 950;
    live.suspended_sec = 20; /* from earlier suspensions */
    assert_int_equal(job_state_end_at(&job), 1520);
    live.state = PB__JOB_STATE__RUNNING;
    live.suspended_sec = 0;
    live.time_limit_sec = TIME_UNLIMITED;
    assert_true(job_state_left_sec(&live, 1000) == TIME_UNLIMITED);
    assert_int_equal(job_state_end_at(&job), 0);
    live.state = PB__JOB_STATE__COMPLETED;
    live.end_at = 950;
    assert_int_equal(job_state_used_sec(&live, 1000), 50);
}

static void test_time_limit_of_a_step_is_computed(void **state)
{
    Pb__StepRecord step = PB__STEP_RECORD__INIT;
    assert_true(job_state_step_limit_sec(&step) == TIME_UNLIMITED);
    step.has_time_limit_sec = 1;
    step.time_limit_sec = 60;
    assert_int_equal(job_state_step_limit_sec(&step), 60);
    step.step_id = 0xfffffffb; /* the batch script has the job's limit */
    assert_true(job_state_step_limit_sec(&step) == TIME_UNLIMITED);
}

/* GANG-39: TIME of a step is its run time. */
static void test_run_time_of_a_step_is_computed(void **state)
{
    Pb__StepRecord step = PB__STEP_RECORD__INIT;
    (void)state;
    step.start_at = 900;
    step.has_state = true;
    step.state = PB__STEP_STATE__STEP_RUNNING;
    assert_int_equal(job_state_step_used_sec(&step, 1000), 100);
    assert_string_equal(job_state_of_step(&step), "RUNNING");
    step.has_job_run_ms = step.has_begun_run_ms = step.suspended = true;
    step.job_run_ms = 45000;
    step.begun_run_ms = 5000;
    assert_int_equal(job_state_step_used_sec(&step, 1000), 40);
    assert_string_equal(job_state_of_step(&step), "SUSPENDED");
    step.begun_run_ms = 46000;
    assert_int_equal(job_state_step_used_sec(&step, 1000), 0);
}

/* A row of the archive has the state in which the step ended: its own state, or that of its job. */
static void test_states_of_ended_steps(void **state)
{
    static const struct {
        int32_t status;
        int with; /* -1: the step ended before its job */
        const char *word;
    } v[] = {
        {0, -1, "COMPLETED"},
        {5 << 8, -1, "FAILED"},
        {9, -1, "FAILED"},
        {0, PB__JOB_STATE__FAILED, "COMPLETED"},
        {5 << 8, PB__JOB_STATE__COMPLETED, "FAILED"},
        {15, PB__JOB_STATE__CANCELLED, "CANCELLED"},
        {0, PB__JOB_STATE__CANCELLED, "CANCELLED"},
        {15, PB__JOB_STATE__TIMEOUT, "TIMEOUT"},
        {9, PB__JOB_STATE__NODE_FAIL, "NODE_FAIL"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        Pb__StepRecord step = PB__STEP_RECORD__INIT;
        step.has_state = step.has_exit_status = true;
        step.state = PB__STEP_STATE__STEP_ENDED;
        step.exit_status = v[i].status;
        step.has_ended_with_job = v[i].with >= 0;
        step.ended_with_job = step.has_ended_with_job ? (uint32_t)v[i].with : 0;
        assert_string_equal(job_state_of_step(&step), v[i].word);
    }
}

/* The licences of the request, unless the controller reports others: also of a suspended job, and
 * also that it holds none. */
static void test_licenses_of_request_or_controller_are_shown(void **state)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    (void)state;
    spec.licenses = "a:2";
    live.state = PB__JOB_STATE__PENDING;
    assert_null(job_state_licenses(&spec, &live));
    live.state = PB__JOB_STATE__RUNNING;
    assert_string_equal(job_state_licenses(&spec, &live), "a:2");
    live.state = PB__JOB_STATE__SUSPENDED;
    assert_string_equal(job_state_licenses(&spec, &live), "a:2");
    live.licenses_alloc = "";
    assert_string_equal(job_state_licenses(&spec, &live), "");
    live.state = PB__JOB_STATE__COMPLETED;
    assert_null(job_state_licenses(&spec, &live));
}

static void test_file_names_are_expanded(void **state)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    Pb__JobRecord job = PB__JOB_RECORD__INIT;
    job.spec = &spec;
    job.live = &live;
    spec.work_dir = "/w";
    spec.name = "nm";
    spec.user_name = "u";
    spec.has_batch = spec.batch = 1;
    live.job_id = 42;
    static const struct {
        const char *out, *err;
        int stream;
        enum job_path how;
        const char *tasks; /* elements of an array */
        const char *path;
    } v[] = {
        {NULL, NULL, 0, JOB_PATH_KNOWN, NULL, "/dev/null"},
        {NULL, NULL, 1, JOB_PATH_KNOWN, NULL, "/w/slurm-42.out"},
        {NULL, NULL, 2, JOB_PATH_KNOWN, NULL, "/w/slurm-42.out"},
        {"o-%j", NULL, 2, JOB_PATH_KNOWN, NULL, "/w/o-42"},
        {"o", "/e.%x", 2, JOB_PATH_KNOWN, NULL, "/e.nm"},
        {"%5j.%%.%u.%t", NULL, 1, JOB_PATH_KNOWN, NULL, "/w/00042.%.u.0"},
        {"%", NULL, 1, JOB_PATH_KNOWN, NULL, "/w/%"},
        {"%99999999999j", NULL, 1, JOB_PATH_KNOWN, NULL, "/w/0000000042"},
        {NULL, NULL, 1, JOB_PATH_GIVEN, NULL, "/w/slurm-42.out"},
        {"o-%j", NULL, 2, JOB_PATH_GIVEN, NULL, "/w/o-%j"},
        {"o-%j", NULL, 2, JOB_PATH_FIRST, NULL, "/w/o-42"},
        {"%A.%a", NULL, 1, JOB_PATH_GIVEN, "3-5", "/w/%A.%a"},
        {"%A.%a", NULL, 1, JOB_PATH_KNOWN, "3-5", "/w/40.%a"},
        {"%A.%a", NULL, 1, JOB_PATH_FIRST, "3-5", "/w/40.3"},
        {NULL, NULL, 1, JOB_PATH_FIRST, "0x18", "/w/slurm-40_3.out"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str path = STR_INIT;
        spec.std_out = (char *)v[i].out;
        spec.std_err = (char *)v[i].err;
        live.array_tasks = (char *)v[i].tasks;
        live.has_array_job_id = v[i].tasks != NULL;
        live.array_job_id = 40;
        job_state_put_path(&job, v[i].stream, v[i].how, &path);
        assert_string_equal(str_cstr(&path), v[i].path);
    }
}

static void test_exit_codes_are_formatted(void **state)
{
    static const struct {
        int32_t status;
        const char *text;
    } v[] = {{0, "0:0"}, {3 << 8, "3:0"}, {9, "0:9"}, {15 | 0x80, "0:15"}};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        job_state_put_exit(v[i].status, &text);
        assert_string_equal(str_cstr(&text), v[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_ids_are_parsed),
        cmocka_unit_test(test_state_lists_are_parsed),
        cmocka_unit_test(test_gpus_that_a_request_asks_for),
        cmocka_unit_test(test_billing_follows_weights_and_flags),
        cmocka_unit_test(test_states_have_words),
        cmocka_unit_test(test_run_and_pending_times_are_computed),
        cmocka_unit_test(test_time_limit_of_a_step_is_computed),
        cmocka_unit_test(test_run_time_of_a_step_is_computed),
        cmocka_unit_test(test_states_of_ended_steps),
        cmocka_unit_test(test_licenses_of_request_or_controller_are_shown),
        cmocka_unit_test(test_file_names_are_expanded),
        cmocka_unit_test(test_exit_codes_are_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
