/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/jobenv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/step_id.h"

static void test_counts(void **state)
{
    static const struct {
        size_t n;
        uint32_t counts[6];
        const char *expect;
    } vectors[] = {
        {0, {0}, ""},
        {1, {4}, "4"},
        {4, {2, 2, 2, 1}, "2(x3),1"},
        {6, {1, 1, 2, 3, 3, 1}, "1(x2),2,3(x2),1"},
        {3, {72, 72, 36}, "72(x2),36"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str got = STR_INIT;

        jobenv_counts(vectors[i].counts, vectors[i].n, &got);
        assert_string_equal(str_cstr(&got), vectors[i].expect);
    }
}

static void test_attempt(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        uint32_t restarts;
    } cases[] = {
        {NULL, false, 0},
        {"", false, 0},
        {"42", false, 0},
        {"42.", false, 0},
        {".1", false, 0},
        {"42.x", false, 0},
        {"42.-1", false, 0},
        {"42.4294967296", false, 0},
        {"x.1", false, 0},
        {"41.1", false, 0},
        {"4200.1", false, 0},
        {"42.0", true, 0},
        {"42.4294967295", true, UINT32_MAX},
        {"42.7", true, 7},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t restarts = 99;

        if (cases[i].text != NULL)
            setenv("SLUICE_ATTEMPT", cases[i].text, 1);
        else
            unsetenv("SLUICE_ATTEMPT");
        assert_int_equal(jobenv_attempt(42, &restarts), cases[i].ok);
        assert_int_equal(restarts, cases[i].ok ? cases[i].restarts : 99);
    }
    unsetenv("SLUICE_ATTEMPT");
}

static void test_alloc(void **state)
{
    struct Pb__NodeAlloc nodes[] = {PB__NODE_ALLOC__INIT, PB__NODE_ALLOC__INIT};
    struct Pb__NodeAlloc *list[] = {&nodes[0], &nodes[1]};
    struct Pb__AllocReply reply = PB__ALLOC_REPLY__INIT;
    struct Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    struct conf conf = {.cluster_name = "c", .path = "/etc/c.conf"};
    struct envlist e = {0};

    (void)state;
    nodes[0].node = "n1";
    nodes[1].node = "n2";
    nodes[0].cpus = nodes[1].cpus = 4;
    reply.job_id = 42;
    reply.nodes = "n[1-2]";
    reply.alloc = list;
    reply.n_alloc = 2;
    reply.partition = "main";
    reply.spec = &spec;
    reply.has_start_at_sec = true;
    reply.start_at_sec = 1700000000;
    spec.has_num_tasks = 1;
    spec.num_tasks = 5;
    envlist_set(&e, "SLURM_JOB_END_TIME", "12"); /* of a surrounding job */
    jobenv_alloc(&e, &reply, &conf);
    assert_string_equal(envlist_get(&e, "SLURM_JOB_START_TIME"), "1700000000");
    assert_null(envlist_get(&e, "SLURM_JOB_END_TIME"));
    reply.has_end_at_sec = true;
    reply.end_at_sec = 1700000060;
    jobenv_alloc(&e, &reply, &conf);
    assert_string_equal(envlist_get(&e, "SLURM_JOB_END_TIME"), "1700000060");
    assert_string_equal(envlist_get(&e, "SLURM_JOB_ID"), "42");
    assert_string_equal(envlist_get(&e, "SLURM_JOBID"), "42");
    assert_string_equal(envlist_get(&e, "SLURM_JOB_NODELIST"), "n[1-2]");
    assert_string_equal(envlist_get(&e, "SLURM_NODELIST"), "n[1-2]");
    assert_string_equal(envlist_get(&e, "SLURM_NNODES"), "2");
    assert_string_equal(envlist_get(&e, "SLURM_JOB_CPUS_PER_NODE"), "4(x2)");
    assert_string_equal(envlist_get(&e, "SLURM_TASKS_PER_NODE"), "3,2");
    assert_string_equal(envlist_get(&e, "SLURM_NTASKS"), "5");
    assert_string_equal(envlist_get(&e, "SLURM_JOB_PARTITION"), "main");
    assert_string_equal(envlist_get(&e, "SLURM_CONF"), "/etc/c.conf");
    assert_null(envlist_get(&e, "SLURM_CPUS_PER_TASK"));
    envlist_done(&e);
}

/* --mem and similar options exclude each other: the variable of another one is not inherited. */
static void memory_is_told_in_one_way(void **state)
{
    static const char *const names[] = {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU",
                                        "SLURM_MEM_PER_GPU"};
    struct conf conf = {.cluster_name = "c", .path = "/etc/c.conf"};

    (void)state;
    for (size_t way = 0; way <= 3; way++) {
        struct Pb__AllocReply reply = PB__ALLOC_REPLY__INIT;
        struct Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        struct envlist e = {0};

        reply.spec = &spec;
        spec.has_mem_per_node_mib = way == 0;
        spec.has_mem_per_cpu_mib = way == 1;
        spec.has_mem_per_gpu_mib = way == 2;
        spec.mem_per_node_mib = spec.mem_per_cpu_mib = spec.mem_per_gpu_mib = 300;
        for (size_t i = 0; i < 3; i++)
            envlist_set(&e, names[i], "7");
        jobenv_alloc(&e, &reply, &conf);
        for (size_t i = 0; i < 3; i++) {
            const char *value = envlist_get(&e, names[i]);

            if (way == 3) /* nothing is requested: the variables stay */
                assert_string_equal(value, "7");
            else if (i == way)
                assert_string_equal(value, "300");
            else
                assert_null(value);
        }
        envlist_done(&e);
    }
}

/* A job of two components. */
static struct Pb__NodeAlloc node_rows[3];
static struct Pb__NodeAlloc *node_lists[] = {&node_rows[0], &node_rows[1], &node_rows[2]};
static struct Pb__JobSpec leader_spec, second_spec;
static struct Pb__AllocReply leader, second, *seconds[] = {&second};

static void set_up_components(void)
{
    static const char *const names[] = {"n1", "n2", "n3"};

    for (size_t i = 0; i < 3; i++) {
        pb__node_alloc__init(&node_rows[i]);
        node_rows[i].node = (char *)names[i];
        node_rows[i].cpus = i > 0 ? 4 : 2;
    }
    pb__job_spec__init(&leader_spec);
    pb__job_spec__init(&second_spec);
    pb__alloc_reply__init(&leader);
    pb__alloc_reply__init(&second);
    leader.job_id = 42;
    leader.granted = second.granted = true;
    leader.nodes = (char *)"n1";
    leader.alloc = node_lists;
    leader.n_alloc = 1;
    leader.partition = (char *)"a";
    leader.spec = &leader_spec;
    leader.components = seconds;
    leader.n_components = 1;
    second.job_id = 43;
    second.nodes = (char *)"n[2-3]";
    second.alloc = node_lists + 1;
    second.n_alloc = 2;
    second.partition = (char *)"b";
    second.spec = &second_spec;
    second.has_start_at_sec = true;
    second.start_at_sec = 1700000000;
    second_spec.has_num_tasks = second_spec.has_cpus_per_task = true;
    second_spec.num_tasks = 3;
    second_spec.cpus_per_task = 2;
    second_spec.has_mem_per_cpu_mib = true;
    second_spec.mem_per_cpu_mib = 100;
    second_spec.name = (char *)"name=with equals";
    second_spec.account = (char *)"physics";
    second_spec.mem_bind = (char *)"local";
    second_spec.has_uid = true;
    second_spec.uid = 1000;
    second_spec.work_dir = (char *)"/home/alice";
}

/* HET-83 to HET-89. */
static void each_component_has_variables_of_its_own(void **state)
{
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"SLURM_JOB_ID", "42"},
        {"SLURM_JOB_NODELIST", "n1"},
        {"SLURM_HET_SIZE", "2"},
        {"SLURM_PACK_SIZE", "2"},
        {"SLURM_JOB_ID_HET_GROUP_0", "42"},
        {"SLURM_JOB_ID_HET_GROUP_1", "43"},
        {"SLURM_JOB_ID_PACK_GROUP_1", "43"},
        {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
        {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"},
        {"SLURM_NODELIST_HET_GROUP_1", "n[2-3]"},
        {"SLURM_JOB_NODES_HET_GROUP_1", "2"},
        {"SLURM_JOB_NUM_NODES_HET_GROUP_1", "2"},
        {"SLURM_JOB_PARTITION_HET_GROUP_0", "a"},
        {"SLURM_JOB_PARTITION_HET_GROUP_1", "b"},
        {"SLURM_CPUS_PER_TASK", NULL},
        {"SLURM_CPUS_PER_TASK_HET_GROUP_0", NULL},
        {"SLURM_CPUS_PER_TASK_HET_GROUP_1", "2"},
        {"SLURM_MEM_PER_CPU_HET_GROUP_1", "100"},
        {"SLURM_NTASKS_HET_GROUP_1", "3"},
        {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "2,1"},
        {"SLURM_CONF_HET_GROUP_0", NULL},
        {"SLURM_JOB_ID_HET_GROUP_2", NULL}, /* of a surrounding job */
    };
    struct conf conf = {.cluster_name = "c", .path = "/etc/c.conf"};
    struct envlist e = {0};

    (void)state;
    set_up_components();
    envlist_set(&e, "SLURM_JOB_ID_HET_GROUP_2", "7");
    jobenv_alloc(&e, &leader, &conf);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *value = envlist_get(&e, rows[i].name);

        if (rows[i].value == NULL && value != NULL)
            fail_msg("%s is %s", rows[i].name, value);
        if (rows[i].value != NULL && (value == NULL || !str_eq(value, rows[i].value)))
            fail_msg("%s is %s, not %s", rows[i].name, value ? value : "unset", rows[i].value);
    }
    envlist_done(&e);
}

/* All variables of a job that has only the component. */
static void no_variable_of_a_component_is_forgotten(void **state)
{
    static const char *const of_all[] = {"SLURM_CLUSTER_NAME", "SLURM_CONF"};
    struct conf conf = {.cluster_name = "c", .path = "/etc/c.conf"};
    struct envlist e = {0}, alone = {0};
    size_t checked = 0;

    (void)state;
    set_up_components();
    jobenv_alloc(&e, &leader, &conf);
    jobenv_alloc(&alone, &second, &conf);
    for (size_t i = 0; i < alone.vars.len; i++) {
        _cleanup_free_ char *name =
            mem_strndup(alone.vars.data[i], strcspn(alone.vars.data[i], "="));
        _cleanup_free_ char *renamed = mem_printf("%s_HET_GROUP_1", name);
        const char *value = envlist_get(&e, renamed);

        if (str_eq(name, of_all[0]) || str_eq(name, of_all[1]))
            continue;
        if (value == NULL || !str_eq(value, envlist_get(&alone, name)))
            fail_msg("%s is %s", renamed, value != NULL ? value : "not set");
        checked++;
    }
    assert_true(checked > 20);
    envlist_done(&alone);
    envlist_done(&e);
}

/* An ordinary job that a heterogeneous one starts. */
static void an_ordinary_job_has_no_variables_of_components(void **state)
{
    struct conf conf = {.cluster_name = "c", .path = "/etc/c.conf"};
    struct envlist e = {0};

    (void)state;
    set_up_components();
    jobenv_alloc(&e, &leader, &conf);
    jobenv_alloc(&e, &second, &conf);
    assert_string_equal(envlist_get(&e, "SLURM_JOB_ID"), "43");
    for (size_t i = 0; i < e.vars.len; i++)
        if (strstr(e.vars.data[i], "_GROUP_") != NULL || strstr(e.vars.data[i], "_SIZE") != NULL)
            fail_msg("%s", e.vars.data[i]);
    envlist_done(&e);
}

/* A job that is started within another one. What is no variable of a job stays, and so does all of
 * a job that is looked up again. */
static void nothing_is_left_of_the_job_around(void **state)
{
    static const char *const names[] = {
        "SLURM_JOB_ACCOUNT",   "SLURM_JOB_RESERVATION", "SLURM_JOB_GPUS",    "SLURM_CPUS_PER_TASK",
        "SLURM_TRES_PER_TASK", "SLURM_NTASKS_PER_NODE", "SLURM_GPUS",        "SLURM_ARRAY_TASK_ID",
        "SLURM_RESTART_COUNT", "SLURM_PROCID",          "SLURM_GPUS_ON_NODE"};
    struct conf conf = {.cluster_name = "c", .path = "/etc/c.conf"};
    (void)state;
    for (int same = 0; same < 2; same++) {
        struct envlist e = {0};
        set_up_components();
        envlist_set(&e, "SLURM_JOB_ID", same ? "42" : "7");
        envlist_set(&e, "SLURM_WCKEY", "own");
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            envlist_set(&e, names[i], "other");
        jobenv_alloc(&e, &leader, &conf);
        assert_string_equal(envlist_get(&e, "SLURM_JOB_ID"), "42");
        assert_string_equal(envlist_get(&e, "SLURM_WCKEY"), "own");
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (!str_eq(envlist_get(&e, names[i]), same ? "other" : NULL))
                fail_msg("%s", names[i]);
        envlist_done(&e);
    }
}

/* A component whose record was purged, and one without nodes. */
static void a_component_without_nodes_has_an_id_at_most(void **state)
{
    struct Pb__AllocReply gone = PB__ALLOC_REPLY__INIT, *list[] = {&leader, &gone, &second};
    struct envlist e = {0};

    (void)state;
    set_up_components();
    second.granted = false;
    jobenv_components(&e, list, 3);
    assert_string_equal(envlist_get(&e, "SLURM_HET_SIZE"), "3");
    assert_null(envlist_get(&e, "SLURM_JOB_ID_HET_GROUP_1"));
    assert_string_equal(envlist_get(&e, "SLURM_JOB_ID_HET_GROUP_2"), "43");
    assert_null(envlist_get(&e, "SLURM_JOB_NUM_NODES_HET_GROUP_2"));
    assert_null(envlist_get(&e, "SLURM_JOB_ID"));
    envlist_done(&e);
}

static void test_step(void **state)
{
    uint32_t ids[] = {0, 1, 2};
    struct Pb__StepNode nodes[] = {PB__STEP_NODE__INIT, PB__STEP_NODE__INIT};
    struct Pb__StepNode *list[] = {&nodes[0], &nodes[1]};
    struct Pb__StepReply step = PB__STEP_REPLY__INIT;
    struct envlist e = {0};

    (void)state;
    nodes[0].node = "n1";
    nodes[0].task_ids = ids;
    nodes[0].n_task_ids = 2;
    nodes[1].node = "n3";
    nodes[1].task_ids = ids + 2;
    nodes[1].n_task_ids = 1;
    step.job_id = 42;
    step.step_id = 3;
    step.num_tasks = 3;
    step.layout = list;
    step.n_layout = 2;
    jobenv_step(&e, &step);
    assert_string_equal(envlist_get(&e, "SLURM_STEP_ID"), "3");
    assert_string_equal(envlist_get(&e, "SLURM_STEP_NODELIST"), "n[1,3]");
    assert_string_equal(envlist_get(&e, "SLURM_STEP_NUM_NODES"), "2");
    assert_string_equal(envlist_get(&e, "SLURM_STEP_TASKS_PER_NODE"), "2,1");
    assert_string_equal(envlist_get(&e, "SLURM_NTASKS"), "3");
    envlist_done(&e);
}

static void a_process_gets_the_signals_of_its_process_group(void **state)
{
    char own[16], other[16];
    uint32_t step = 7;

    (void)state;
    snprintf(own, sizeof own, "%d", (int)getpgrp());
    snprintf(other, sizeof other, "%d", (int)getpgrp() + 1);
    unsetenv("SLURM_STEP_ID");
    unsetenv("SLURM_TASK_PID");
    assert_false(jobenv_signalled_with(&step));
    setenv("SLURM_TASK_PID", other, 1);
    assert_false(jobenv_signalled_with(&step));
    assert_int_equal(step, 7);
    setenv("SLURM_TASK_PID", own, 1);
    assert_true(jobenv_signalled_with(&step));
    assert_int_equal(step, STEP_ID_BATCH);
    setenv("SLURM_STEP_ID", "3", 1);
    assert_true(jobenv_signalled_with(&step));
    assert_int_equal(step, 3);
    setenv("SLURM_STEP_ID", "x", 1);
    assert_false(jobenv_signalled_with(&step));
    unsetenv("SLURM_STEP_ID");
    unsetenv("SLURM_TASK_PID");
}

static void nodes_that_parts_share_are_named_once(void **state)
{
    static const struct {
        const char *node;
        uint32_t part, tasks;
    } layout[] = {{"n1", 0, 2}, {"n3", 0, 1}, {"n3", 1, 3}, {"n4", 1, 1}, {"n1", 2, 1}};
    enum { COUNT = sizeof(layout) / sizeof(layout[0]) };
    struct Pb__StepNode nodes[COUNT], *list[COUNT];
    struct Pb__StepReply step = PB__STEP_REPLY__INIT;
    uint32_t ids[3] = {0};
    struct envlist e = {0};

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        pb__step_node__init(&nodes[i]);
        nodes[i].node = (char *)layout[i].node;
        nodes[i].part = layout[i].part;
        nodes[i].task_ids = ids;
        nodes[i].n_task_ids = layout[i].tasks;
        list[i] = &nodes[i];
    }
    step.num_tasks = 8;
    step.layout = list;
    step.n_layout = COUNT;
    jobenv_step(&e, &step);
    assert_string_equal(envlist_get(&e, "SLURM_STEP_NODELIST"), "n[1,3-4]");
    assert_string_equal(envlist_get(&e, "SLURM_NODELIST"), "n[1,3-4]");
    assert_string_equal(envlist_get(&e, "SLURM_STEP_NUM_NODES"), "3");
    assert_string_equal(envlist_get(&e, "SLURM_NNODES"), "3");
    assert_string_equal(envlist_get(&e, "SLURM_STEP_TASKS_PER_NODE"), "3,4,1");
    envlist_done(&e);
}

static void test_cluster(void **state)
{
    struct conf_host hosts[] = {{.name = "ctl", .addr = "10.0.0.1"}, {.name = "spare"}};
    struct conf conf = {.cluster_name = "c", .slurmctld_port = 6817};
    struct envlist e = {0};

    (void)state;
    conf.controllers.data = hosts;
    conf.controllers.len = 2;
    jobenv_cluster(&e, &conf);
    assert_string_equal(envlist_get(&e, "SLURM_WORKING_CLUSTER"), "c:10.0.0.1:6817:1");
    envlist_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempt),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(memory_is_told_in_one_way),
        cmocka_unit_test(test_step),
        cmocka_unit_test(a_process_gets_the_signals_of_its_process_group),
        cmocka_unit_test(nodes_that_parts_share_are_named_once),
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(each_component_has_variables_of_its_own),
        cmocka_unit_test(no_variable_of_a_component_is_forgotten),
        cmocka_unit_test(an_ordinary_job_has_no_variables_of_components),
        cmocka_unit_test(nothing_is_left_of_the_job_around),
        cmocka_unit_test(a_component_without_nodes_has_an_id_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
