/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "slurmstepd/env/vars.h"

struct pair {
    const char *name, *value;
};

static void check(const struct envlist *env, const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = envlist_get(env, pairs[i].name);

        if (!pairs[i].value) {
            if (value)
                fail_msg("%s is %s, but should not be set", pairs[i].name, value);
        } else if (!value || strcmp(value, pairs[i].value)) {
            fail_msg("%s is %s, not %s", pairs[i].name, value ? value : "not set", pairs[i].value);
        }
    }
}

static uint32_t ids0[] = {0, 1, 2}, ids1[] = {3};
static Pb__StepNode node0, node1, *nodes[] = {&node0, &node1};
static Pb__NodeShare share0, share1, share2, *shares[] = {&share0, &share1, &share2};
static Pb__Cred cred;
static Pb__StepdStart start;

static void set_up(void)
{
    pb__step_node__init(&node0);
    pb__step_node__init(&node1);
    node0.node = "n1";
    node0.cpus = 3;
    node0.task_ids = ids0;
    node0.n_task_ids = 3;
    node1.node = "n3";
    node1.cpus = 1;
    node1.task_ids = ids1;
    node1.n_task_ids = 1;
    pb__node_share__init(&share0);
    pb__node_share__init(&share1);
    pb__node_share__init(&share2);
    share0.node = "n1";
    share1.node = "n2";
    share2.node = "n3";
    share0.cpus = share1.cpus = 4;
    share2.cpus = 2;
    pb__cred__init(&cred);
    cred.job_id = 42;
    cred.step_id = 7;
    cred.uid = 1000;
    cred.gid = 100;
    cred.issued_at_ms = 1700000000999;
    cred.nodes = nodes;
    cred.n_nodes = 2;
    cred.job_nodes = shares;
    cred.n_job_nodes = 3;
    pb__stepd_start__init(&start);
    start.node = "n3";
    start.node_index = 1;
    start.user_name = "alice";
    start.home = "/home/alice";
    start.shell = "/bin/zsh";
    start.conf_path = "/etc/slurm/slurm.conf";
    start.node_host = "n3.example";
    start.cluster = "c1";
}

static void test_batch(void **state)
{
    static const struct pair pairs[] = {
        {"SLURM_JOB_ID", "42"},
        {"SLURM_JOBID", "42"},
        {"SLURM_JOB_NODELIST", "n[1-3]"},
        {"SLURM_NODELIST", "n[1-3]"},
        {"SLURM_JOB_NUM_NODES", "3"},
        {"SLURM_NNODES", "3"},
        {"SLURM_JOB_CPUS_PER_NODE", "4(x2),2"},
        {"SLURM_CPUS_ON_NODE", "4"},
        {"SLURM_TASKS_PER_NODE", "3,1(x2)"},
        {"SLURM_NTASKS", "5"},
        {"SLURM_NPROCS", "5"},
        {"SLURM_JOB_NAME", "name with blanks"},
        {"SLURM_JOB_PARTITION", "main"},
        {"SLURM_JOB_ACCOUNT", NULL},
        {"SLURM_JOB_UID", "1000"},
        {"SLURM_JOB_USER", "alice"},
        {"SLURM_JOB_START_TIME", "1700000000"},
        {"SLURM_JOB_END_TIME", "1700000060"},
        {"SLURM_MEM_PER_NODE", "500"},
        {"SLURM_SUBMIT_DIR", "/home/alice/work"},
        {"SLURM_CLUSTER_NAME", "c1"},
        {"SLURM_CONF", "/etc/slurm/slurm.conf"},
        {"SLURMD_NODENAME", "n3"},
        {"SLURM_RESTART_COUNT", NULL},
        {"SLUICE_ATTEMPT", "42.0"},
        {"SLURM_STEP_ID", NULL},
        {"ENVIRONMENT", "BATCH"},
        {"HOSTNAME", "n3.example"},
        {"HOME", "/elsewhere"},
        {"USER", "alice"},
        {"SHELL", "/bin/zsh"},
        {"PATH", "/usr/local/bin:/usr/bin:/bin"},
    };
    char *given[] = {"HOME=/elsewhere", "SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "HOSTNAME=login"};
    Pb__LaunchBatch batch = PB__LAUNCH_BATCH__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    struct envlist env = {0};

    set_up();
    batch.spec = &spec;
    batch.partition = "main";
    batch.has_num_tasks = batch.has_time_limit_sec = true;
    batch.num_tasks = 5;
    batch.time_limit_sec = 60;
    spec.name = "name with blanks";
    spec.work_dir = "/home/alice/work";
    spec.has_num_tasks = spec.has_mem_per_node_mib = true;
    spec.num_tasks = 5;
    spec.mem_per_node_mib = 500;
    envlist_load(&env, given, 4);
    vars_batch(&env, &start, &batch, &cred);
    check(&env, pairs, sizeof(pairs) / sizeof(pairs[0]));
    envlist_done(&env);
}

static void test_no_time_limit(void **state)
{
    static const int64_t limits[] = {0, -5, INT64_MAX, INT64_MAX - 1};
    Pb__LaunchBatch batch = PB__LAUNCH_BATCH__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;

    set_up();
    batch.spec = &spec;
    batch.has_time_limit_sec = true;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        static const struct pair none[] = {{"SLURM_JOB_END_TIME", NULL}, {"SLURM_NTASKS", NULL}};
        struct envlist env = {0};

        batch.time_limit_sec = limits[i];
        vars_batch(&env, &start, &batch, &cred);
        check(&env, none, 2);
        envlist_done(&env);
    }
}

static void test_step(void **state)
{
    static const struct pair pairs[] = {
        {"SLURM_JOB_ID", "42"},
        {"SLURM_STEP_ID", "7"},
        {"SLURM_STEPID", "7"},
        {"SLURM_STEP_NODELIST", "n[1,3]"},
        {"SLURM_STEP_NUM_NODES", "2"},
        {"SLURM_STEP_NUM_TASKS", "4"},
        {"SLURM_STEP_TASKS_PER_NODE", "3,1"},
        {"SLURM_NTASKS", "4"},
        {"SLURM_NNODES", "2"},
        {"SLURM_JOB_NUM_NODES", "3"},
        {"SLURM_NODEID", "1"},
        {"SLURM_CPUS_ON_NODE", "1"},
        {"SLURM_PROCID", "3"},
        {"SLURM_LOCALID", "0"},
        {"SLURM_GTIDS", "3"},
        {"SLURM_TASK_PID", "4711"},
        {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"},
        {"SLURM_SRUN_COMM_PORT", "3333"},
        {"SLURM_RESTART_COUNT", "2"},
        {"SLUICE_ATTEMPT", "42.2"},
        {"ENVIRONMENT", "BATCH"},
        {"HOSTNAME", "login"},
    };
    char *addresses[] = {"10.0.0.1", "10.1.0.1"},
         *given[] = {"ENVIRONMENT=BATCH", "HOSTNAME=login"};
    Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
    struct envlist env = {0};

    set_up();
    cred.restarts = 2;
    launch.io_addr = addresses;
    launch.n_io_addr = 2;
    launch.io_port = 3333;
    envlist_load(&env, given, 2);
    vars_step(&env, &start, &launch, &cred);
    vars_task(&env, 3, 0, 4711, ids1, 1);
    check(&env, pairs, sizeof(pairs) / sizeof(pairs[0]));
    envlist_done(&env);
}

/* --preserve-env: what was given stays, and what was not is not there. */
static void test_preserved(void **state)
{
    static const struct pair pairs[] = {
        {"SLURM_NTASKS", "31"},
        {"SLURM_NNODES", "17"},
        {"SLURM_STEP_NUM_NODES", "2"},
    };
    char *given[] = {"SLURM_NNODES=17", "SLURM_NTASKS=31", "SLURM_STEP_NUM_NODES=9"};
    Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
    struct envlist env = {0};

    set_up();
    launch.has_preserve_env = launch.preserve_env = 1;
    envlist_load(&env, given, 3);
    vars_step(&env, &start, &launch, &cred);
    check(&env, pairs, sizeof(pairs) / sizeof(pairs[0]));
    assert_null(envlist_get(&env, "SLURM_NPROCS"));
    assert_null(envlist_get(&env, "SLURM_TASKS_PER_NODE"));
    envlist_done(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_no_time_limit),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_preserved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
