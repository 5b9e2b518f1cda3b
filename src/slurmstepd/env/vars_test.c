/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "slurmstepd/env/vars.h"

struct pair {
    const char *name, *value;
};

static void check_variables(const struct envlist *env, const struct pair *pairs, size_t count)
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

static void test_batch_variables_are_set(void **state)
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
        {"SLURM_TASKS_PER_NODE", "2(x2),1"},
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
    check_variables(&env, pairs, sizeof(pairs) / sizeof(pairs[0]));
    envlist_done(&env);
}

static void test_job_without_a_time_limit_has_no_end_time(void **state)
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
        check_variables(&env, none, 2);
        envlist_done(&env);
    }
}

/* Also in a repeated launch, with a new credential. */
static void times_are_those_of_the_job(void **state)
{
    static const struct pair pairs[] = {{"SLURM_JOB_START_TIME", "1699999000"},
                                        {"SLURM_JOB_END_TIME", "1699999060"}};
    Pb__LaunchBatch batch = PB__LAUNCH_BATCH__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobFacts facts = PB__JOB_FACTS__INIT;
    struct envlist env = {0};

    set_up();
    batch.spec = &spec;
    batch.has_time_limit_sec = true;
    batch.time_limit_sec = 60;
    facts.has_start_at = true;
    facts.start_at = 1699999000;
    cred.facts = &facts;
    vars_batch(&env, &start, &batch, &cred);
    check_variables(&env, pairs, 2);
    envlist_done(&env);
}

static void test_step_variables_are_set(void **state)
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
    check_variables(&env, pairs, sizeof(pairs) / sizeof(pairs[0]));
    envlist_done(&env);
}

/* A batch job of two components: this node is of the first one, which cred and set_up() have. */
static Pb__JobSpec leader_spec, second_spec;
static Pb__NodeAlloc alloc0, alloc1, alloc2, *allocs[] = {&alloc0, &alloc1, &alloc2};
static Pb__AllocReply leader, second, *components[] = {&leader, &second};
static Pb__LaunchBatch set_batch;

static void set_up_components(void)
{
    static const char *const names[] = {"n1", "n2", "n3"};

    set_up();
    pb__job_spec__init(&leader_spec);
    pb__job_spec__init(&second_spec);
    pb__alloc_reply__init(&leader);
    pb__alloc_reply__init(&second);
    pb__launch_batch__init(&set_batch);
    for (size_t i = 0; i < 3; i++) {
        pb__node_alloc__init(allocs[i]);
        allocs[i]->node = (char *)names[i];
        allocs[i]->cpus = 4;
    }
    cred.n_job_nodes = leader.n_alloc = 1;
    leader.alloc = allocs;
    leader.granted = second.granted = true;
    leader.job_id = 42;
    leader.spec = set_batch.spec = &leader_spec;
    leader.partition = set_batch.partition = (char *)"main";
    leader.has_num_tasks = set_batch.has_num_tasks = true;
    leader.num_tasks = set_batch.num_tasks = 2;
    leader.has_start_at_sec = second.has_start_at_sec = true;
    leader.start_at_sec = second.start_at_sec = cred.issued_at_ms / 1000;
    leader_spec.has_num_tasks = true;
    leader_spec.num_tasks = 2;
    leader_spec.has_cpus_per_task = true;
    leader_spec.cpus_per_task = 2;
    leader_spec.work_dir = (char *)"/home/alice/work";
    leader_spec.alloc_host = (char *)"login";
    leader_spec.name = (char *)"a name";
    leader_spec.licenses = (char *)"a:1";
    second.alloc = allocs + 1;
    second.n_alloc = 2;
    second.job_id = 43;
    second.spec = &second_spec;
    second.partition = (char *)"big";
    second.has_num_tasks = second.has_time_limit_sec = true;
    second.num_tasks = 5;
    second.time_limit_sec = 60;
    second_spec = leader_spec;
    second_spec.num_tasks = 5;
    second_spec.has_cpus_per_task = false;
    second_spec.cpus_per_task = 0;
    second_spec.has_mem_per_cpu_mib = true;
    second_spec.mem_per_cpu_mib = 100;
    second_spec.account = (char *)"physics";
    second_spec.mem_bind = (char *)"local";
    set_batch.components = components;
    set_batch.n_components = 2;
}

/* HET-83 to HET-89. */
static void script_has_variables_of_each_component(void **state)
{
    static const struct pair pairs[] = {
        {"SLURM_JOB_ID", "42"},
        {"SLURM_JOB_NODELIST", "n1"},
        {"SLURM_JOB_PARTITION", "main"},
        {"SLURM_HET_SIZE", "2"},
        {"SLURM_PACK_SIZE", "2"},
        {"SLURM_JOB_ID_HET_GROUP_0", "42"},
        {"SLURM_JOB_ID_HET_GROUP_1", "43"},
        {"SLURM_JOBID_HET_GROUP_1", "43"},
        {"SLURM_JOB_ID_PACK_GROUP_1", "43"},
        {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
        {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"},
        {"SLURM_NODELIST_HET_GROUP_1", "n[2-3]"},
        {"SLURM_JOB_NODES_HET_GROUP_1", "2"},
        {"SLURM_NNODES_HET_GROUP_1", "2"},
        {"SLURM_JOB_NUM_NODES_HET_GROUP_1", "2"},
        {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0", "4"},
        {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1", "4(x2)"},
        {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "2"},
        {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "3,2"},
        {"SLURM_NTASKS_HET_GROUP_0", "2"},
        {"SLURM_NTASKS_HET_GROUP_1", "5"},
        {"SLURM_CPUS_PER_TASK_HET_GROUP_0", "2"},
        {"SLURM_CPUS_PER_TASK_HET_GROUP_1", NULL},
        {"SLURM_MEM_PER_CPU_HET_GROUP_0", NULL},
        {"SLURM_MEM_PER_CPU_HET_GROUP_1", "100"},
        {"SLURM_JOB_PARTITION_HET_GROUP_1", "big"},
        {"SLURM_JOB_ACCOUNT_HET_GROUP_1", "physics"},
        {"SLURM_JOB_END_TIME_HET_GROUP_0", NULL},
        {"SLURM_JOB_END_TIME_HET_GROUP_1", "1700000060"},
        {"SLURM_SUBMIT_DIR_HET_GROUP_1", "/elsewhere"},
        {"SLURM_SUBMIT_HOST_HET_GROUP_1", "login"},
        {"SLURM_NODEID_HET_GROUP_0", NULL},
        {"SLURM_CONF_HET_GROUP_0", NULL},
        {"SLURM_JOB_ID_HET_GROUP_2", NULL}, /* of the job that submitted this one */
    };
    char *given[] = {"SLURM_JOB_ID_HET_GROUP_2=9", "SLURM_SUBMIT_DIR=/elsewhere"};
    struct envlist env = {0};

    set_up_components();
    envlist_load(&env, given, 2);
    assert_int_equal(vars_batch(&env, &start, &set_batch, &cred), 0);
    check_variables(&env, pairs, sizeof(pairs) / sizeof(pairs[0]));
    envlist_done(&env);
}

/* The first component has the values of its own variables, except those that only this node
   has. */
static void component_has_all_variables_of_a_job(void **state)
{
    static const char *const of_here[] = {"SLURM_CLUSTER_NAME",  "SLURM_CONF",
                                          "SLURM_CPUS_ON_NODE",  "SLURM_HET_SIZE",
                                          "SLURM_NODEID",        "SLURM_PACK_SIZE",
                                          "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN"};
    struct envlist env = {0};
    size_t checked = 0;

    set_up_components();
    vars_batch(&env, &start, &set_batch, &cred);
    vec_foreach (&env.vars, at) {
        _cleanup_free_ char *name = mem_strndup(*at, strcspn(*at, "="));
        _cleanup_free_ char *renamed = mem_printf("%s_HET_GROUP_0", name);
        const char *value = envlist_get(&env, renamed);
        bool skip = !str_starts(name, "SLURM_") || strstr(name, "_GROUP_");

        for (size_t i = 0; i < sizeof(of_here) / sizeof(of_here[0]); i++)
            skip = skip || str_eq(name, of_here[i]);
        if (skip)
            continue;
        if (!value || !str_eq(value, envlist_get(&env, name)))
            fail_msg("%s is %s", renamed, value ? value : "not set");
        checked++;
    }
    assert_true(checked > 20);
    envlist_done(&env);
}

/* 128 components with long texts: the script can still be started. */
static void variables_of_large_sets_are_limited(void **state)
{
    static Pb__AllocReply *many[128];
    static const struct pair pairs[] = {
        {"SLURM_HET_SIZE", "128"},
        {"SLURM_JOB_ID_HET_GROUP_127", "43"},
        {"SLURM_JOB_NODELIST_HET_GROUP_127", "n[2-3]"},
        {"SLURM_JOB_ACCOUNT_HET_GROUP_0", NULL},
        {"SLURM_JOB_ID_PACK_GROUP_0", NULL},
    };
    struct envlist env = {0};
    char account[6000];
    size_t bytes = 0;

    set_up_components();
    memset(account, 'x', sizeof(account) - 1);
    account[sizeof(account) - 1] = '\0';
    second_spec.account = account;
    for (size_t i = 0; i < 128; i++)
        many[i] = &second;
    set_batch.components = many;
    set_batch.n_components = 128;
    assert_true(vars_batch(&env, &start, &set_batch, &cred) > 128);
    check_variables(&env, pairs, sizeof(pairs) / sizeof(pairs[0]));
    vec_foreach (&env.vars, at)
        bytes += strlen(*at) + 1 + sizeof(char *);
    assert_true(bytes < 600 << 10);
    envlist_done(&env);
}

/* HET-86, HET-87, HET-90: a step of one component has its nodes and the leader's job id; a step of
 * two components, or of two parts of one, has the nodes of both as one allocation. */
static void steps_of_components_have_the_id_of_the_whole_job(void **state)
{
    static const struct pair one[] = {
        {"SLURM_JOB_ID", "40"},
        {"SLURM_JOBID", "40"},
        {"SLURM_JOB_ID_HET_GROUP_2", "42"},
        {"SLURM_HET_SIZE", "3"},
        {"SLURM_JOB_NODELIST", "n[1-3]"},
        {"SLUICE_ATTEMPT", "40.0"},
    };
    static const struct pair both[] = {
        {"SLURM_JOB_ID", "40"},
        {"SLURM_JOB_ID_HET_GROUP_2", "42"},
        {"SLURM_JOB_ID_HET_GROUP_1", "41"},
        {"SLURM_JOB_NODELIST", "n[1-3],m1"},
        {"SLURM_JOB_NUM_NODES", "4"},
        {"SLURM_JOB_CPUS_PER_NODE", "4,6,2(x2)"},
    };
    Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
    Pb__JobFacts facts = PB__JOB_FACTS__INIT, other = PB__JOB_FACTS__INIT;
    Pb__NodeShare more[] = {PB__NODE_SHARE__INIT, PB__NODE_SHARE__INIT};
    Pb__NodeShare *more_list[] = {&more[0], &more[1]};
    Pb__CredPart parts[] = {PB__CRED_PART__INIT, PB__CRED_PART__INIT, PB__CRED_PART__INIT};
    Pb__CredPart *list[] = {&parts[0], &parts[1], &parts[2]};
    struct envlist env = {0}, joint = {0};

    set_up();
    facts.has_set_id = facts.has_set_offset = facts.has_set_count = true;
    facts.set_id = 40;
    facts.set_offset = 2;
    facts.set_count = 3;
    cred.facts = &facts;
    vars_step(&env, &start, &launch, &cred);
    check_variables(&env, one, sizeof(one) / sizeof(one[0]));
    other = facts;
    other.set_offset = 1;
    more[0].node = (char *)"n2"; /* which both have */
    more[1].node = (char *)"m1";
    more[0].cpus = more[1].cpus = 2;
    parts[0].job_id = 42;
    parts[0].job_nodes = cred.job_nodes;
    parts[0].n_job_nodes = cred.n_job_nodes;
    parts[0].facts = &facts;
    parts[1].job_id = parts[2].job_id = 41;
    parts[1].job_nodes = more_list; /* for parts[2], too: a job's nodes are with its first part */
    parts[1].n_job_nodes = 2;
    parts[1].facts = parts[2].facts = &other;
    cred.parts = list;
    cred.n_parts = 3;
    vars_step(&joint, &start, &launch, &cred);
    check_variables(&joint, both, sizeof(both) / sizeof(both[0]));
    cred.job_id = 41; /* on a node of the other part */
    cred.job_nodes = more_list;
    cred.n_job_nodes = 2;
    cred.facts = &other;
    vars_step(&joint, &start, &launch, &cred);
    check_variables(&joint, both, sizeof(both) / sizeof(both[0]));
    envlist_done(&env);
    envlist_done(&joint);
}

/* --preserve-env: given variables stay, and absent ones stay absent. */
static void test_preserve_env_keeps_given_variables(void **state)
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
    check_variables(&env, pairs, sizeof(pairs) / sizeof(pairs[0]));
    assert_null(envlist_get(&env, "SLURM_NPROCS"));
    assert_null(envlist_get(&env, "SLURM_TASKS_PER_NODE"));
    envlist_done(&env);
}

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void test_task_counts_are_compressed(void **state)
{
    static const struct {
        uint32_t counts[5];
        size_t nodes;
        const char *text;
    } vectors[] = {
        {{0}, 0, ""},
        {{3}, 1, "3"},
        {{1, 1}, 2, "1(x2)"},
        {{72, 72, 36}, 3, "72(x2),36"},
        {{1, 2, 1, 1, 1}, 5, "1,2,1(x3)"},
    };

    for (size_t i = 0; i < LEN(vectors); i++) {
        _cleanup_str_ struct str out = STR_INIT;

        vars_format_counts(vectors[i].counts, vectors[i].nodes, &out);
        assert_string_equal(str_cstr(&out), vectors[i].text);
    }
}

static void test_pmi_process_mapping_is_formatted(void **state)
{
    static const struct {
        uint32_t node_of[8];
        size_t tasks;
        const char *text;
    } vectors[] = {
        {{0}, 0, "(vector)"},
        {{0}, 1, "(vector,(0,1,1))"},
        {{0, 1}, 2, "(vector,(0,2,1))"},
        {{0, 0, 1, 1}, 4, "(vector,(0,2,2))"},
        {{0, 0, 0, 1}, 4, "(vector,(0,1,3),(1,1,1))"},
        {{0, 1, 2, 0, 1, 2}, 6, "(vector,(0,3,1))"},
        {{0, 1, 0}, 3, "(vector,(0,2,1),(0,1,1))"},
        {{1, 0, 1, 0}, 4, "(vector,(1,1,1),(0,2,1),(0,1,1))"},
    };

    for (size_t i = 0; i < LEN(vectors); i++) {
        _cleanup_str_ struct str out = STR_INIT;

        vars_format_mapping(vectors[i].node_of, vectors[i].tasks, &out);
        assert_string_equal(str_cstr(&out), vectors[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_variables_are_set),
        cmocka_unit_test(test_job_without_a_time_limit_has_no_end_time),
        cmocka_unit_test(times_are_those_of_the_job),
        cmocka_unit_test(test_step_variables_are_set),
        cmocka_unit_test(test_preserve_env_keeps_given_variables),
        cmocka_unit_test(script_has_variables_of_each_component),
        cmocka_unit_test(component_has_all_variables_of_a_job),
        cmocka_unit_test(variables_of_large_sets_are_limited),
        cmocka_unit_test(steps_of_components_have_the_id_of_the_whole_job),
        cmocka_unit_test(test_task_counts_are_compressed),
        cmocka_unit_test(test_pmi_process_mapping_is_formatted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
