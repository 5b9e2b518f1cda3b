/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variables of a job's environment that describe its request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/str.h"
#include "cluster/job/job_env.h"

static void put_variable(void *ctx, const char *name, const char *value)
{
    str_printf(ctx, "%s=%s ", name, value);
}

static void check_variables(const Pb__JobSpec *s, const char *wanted)
{
    _cleanup_str_ struct str text = STR_INIT;

    job_env_each(s, put_variable, &text);
    assert_string_equal(str_cstr(&text), wanted);
}

static void test_options_not_given_set_no_variables(void **state)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.has_overcommit = true;
    s.tres_per_job = "gres:nic:2,gres:gpu:";
    check_variables(&s, "");
}

static void test_given_options_set_variables(void **state)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.name = "job";
    s.tres_per_job = "gres:gpu:a100:2,gres:nic:1,gres:gpu:1";
    s.gpu_bind = "closest";
    s.licenses = "foo:2";
    s.has_num_tasks = s.has_overcommit = s.overcommit = s.has_mem_per_cpu_mib = true;
    s.num_tasks = 3;
    s.mem_per_cpu_mib = 70;
    check_variables(&s, "SLURM_GPUS=a100:2,1 SLURM_GPU_BIND=closest SLURM_JOB_LICENSES=foo:2 "
                        "SLURM_JOB_NAME=job SLURM_MEM_PER_CPU=70 SLURM_NPROCS=3 SLURM_NTASKS=3 "
                        "SLURM_OVERCOMMIT=1 SLURM_TRES_BIND=gres/gpu:closest ");
    s = (Pb__JobSpec)PB__JOB_SPEC__INIT;
    s.has_mem_per_node_mib = s.has_mem_per_cpu_mib = true;
    s.mem_per_node_mib = 80;
    check_variables(&s, "SLURM_MEM_PER_NODE=80 ");
}

static void test_every_member_of_the_spec_has_a_variable(void **state)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.acctg_freq = "acctg_freq";
    s.cpu_freq = "cpu_freq";
    s.distribution = "plane=4";
    s.tres_per_job = "gres:gpu:1";
    s.gpus_per_node = "gres:gpu:2";
    s.tres_per_socket = "gres:gpu:3";
    s.tres_per_task = "gres:gpu:4";
    s.gpu_bind = "closest";
    s.gpu_freq = "gpu_freq";
    s.account = "account";
    s.dependency = "dependency";
    s.group_name = "group_name";
    s.licenses = "licenses";
    s.name = "name";
    s.qos = "qos";
    s.reservation = "reservation";
    s.mem_bind = "v,p,sort,map_mem:0,1";
    s.network = "network";
    s.tres_bind = "gres/gpu:1";
    s.has_cpus_per_gpu = s.has_cpus_per_task = s.has_segment_size = s.has_mem_per_gpu_mib =
        s.has_mem_per_node_mib = s.has_num_tasks = s.has_ntasks_per_core = s.has_ntasks_per_gpu =
            s.has_ntasks_per_node = s.has_ntasks_per_socket = s.has_oom_kill_step =
                s.has_overcommit = s.has_threads_per_core = true;
    s.cpus_per_gpu = 11;
    s.cpus_per_task = 12;
    s.segment_size = 13;
    s.mem_per_gpu_mib = 15;
    s.mem_per_node_mib = 16;
    s.num_tasks = 17;
    s.ntasks_per_core = 18;
    s.ntasks_per_gpu = 19;
    s.ntasks_per_node = 20;
    s.ntasks_per_socket = 21;
    s.oom_kill_step = true;
    s.overcommit = true;
    s.threads_per_core = 24;
    check_variables(&s,
                    "SLURM_ACCTG_FREQ=acctg_freq SLURM_CPU_FREQ_REQ=cpu_freq SLURM_CPUS_PER_GPU=11 "
                    "SLURM_CPUS_PER_TASK=12 SLURM_DISTRIBUTION=plane SLURM_DIST_PLANESIZE=4 "
                    "SLURM_GPUS=1 SLURM_GPUS_PER_NODE=2 SLURM_GPUS_PER_SOCKET=3 "
                    "SLURM_GPUS_PER_TASK=4 SLURM_GPU_BIND=closest SLURM_GPU_FREQ=gpu_freq "
                    "SLURM_JOB_ACCOUNT=account SLURM_JOB_DEPENDENCY=dependency "
                    "SLURM_JOB_GROUP=group_name SLURM_JOB_LICENSES=licenses SLURM_JOB_NAME=name "
                    "SLURM_JOB_QOS=qos SLURM_JOB_RESERVATION=reservation SLURM_JOB_SEGMENT_SIZE=13 "
                    "SLURM_MEM_BIND=v,p,sort,map_mem:0,1 SLURM_MEM_BIND_LIST=0,1 "
                    "SLURM_MEM_BIND_PREFER=prefer SLURM_MEM_BIND_SORT=sort "
                    "SLURM_MEM_BIND_TYPE=map_mem: SLURM_MEM_BIND_VERBOSE=verbose "
                    "SLURM_MEM_PER_GPU=15 SLURM_MEM_PER_NODE=16 SLURM_NETWORK=network "
                    "SLURM_NPROCS=17 SLURM_NTASKS=17 SLURM_NTASKS_PER_CORE=18 "
                    "SLURM_NTASKS_PER_GPU=19 SLURM_NTASKS_PER_NODE=20 SLURM_NTASKS_PER_SOCKET=21 "
                    "SLURM_OOMKILLSTEP=1 SLURM_OVERCOMMIT=1 SLURM_THREADS_PER_CORE=24 "
                    "SLURM_TRES_BIND=gres/gpu:1 SLURM_TRES_PER_TASK=cpu=12,gres/gpu=4 ");
}

static void test_tres_variables_list_requested_resources(void **state)
{
    static const struct {
        const char *gres, *said;
        uint32_t cpus;
    } cases[] = {{NULL, "", 0},
                 {"none", "", 0},
                 {"none", "cpu=2", 2},
                 {"gres:gpu", "gres/gpu=1", 0},
                 {"gres:gpu:a100:2,gres:nic=3", "cpu=1,gres/gpu:a100=2,gres/nic=3", 1},
                 {"gres:gpu:a100", "gres/gpu:a100=1", 0},
                 {"gres:gpu:2k", "gres/gpu=2k", 0}};
    static const struct {
        const char *gpu, *tres, *said;
    } binds[] = {
        {"verbose,single:1", NULL,
         "SLURM_GPU_BIND=verbose,single:1 "
         "SLURM_TRES_BIND=gres/gpu:verbose,single:1 "},
        {"map_gpu:0,1", NULL, "SLURM_GPU_BIND=map_gpu:0,1 SLURM_TRES_BIND=gres/gpu:map:0,1 "},
        {"none", "gres/gpu:closest", "SLURM_GPU_BIND=none SLURM_TRES_BIND=gres/gpu:closest "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_str_ struct str text = STR_INIT;

        job_env_tres(cases[i].gres, cases[i].cpus, &text);
        assert_string_equal(str_cstr(&text), cases[i].said);
    }
    for (size_t i = 0; i < sizeof(binds) / sizeof(binds[0]); i++) {
        Pb__JobSpec s = PB__JOB_SPEC__INIT;

        s.gpu_bind = (char *)binds[i].gpu;
        s.tres_bind = (char *)binds[i].tres;
        check_variables(&s, binds[i].said);
    }
}

static void test_memory_binding_variables_are_set(void **state)
{
    static const struct {
        const char *given, *list, *prefer, *sort, *type, *verbose;
    } cases[] = {{"local", "", "", "", "local", "quiet"},
                 {"v,prefer,map_mem:0,1", "0,1", "prefer", "", "map_mem:", "verbose"},
                 {"Verbose,sort,MASK_MEM:0x1*2", "0x1*2", "", "sort", "mask_mem:", "verbose"},
                 {"q,p,rank", "", "prefer", "", "rank", "quiet"},
                 {"nosort", "", "", "", "none", "quiet"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_str_ struct str wanted = STR_INIT;
        Pb__JobSpec s = PB__JOB_SPEC__INIT;

        s.mem_bind = (char *)cases[i].given;
        str_printf(&wanted,
                   "SLURM_MEM_BIND=%s SLURM_MEM_BIND_LIST=%s SLURM_MEM_BIND_PREFER=%s "
                   "SLURM_MEM_BIND_SORT=%s SLURM_MEM_BIND_TYPE=%s SLURM_MEM_BIND_VERBOSE=%s ",
                   cases[i].given, cases[i].list, cases[i].prefer, cases[i].sort, cases[i].type,
                   cases[i].verbose);
        check_variables(&s, str_cstr(&wanted));
    }
}

static void test_variable_names_of_jobs_are_recognised(void **state)
{
    assert_true(job_env_has("SLURM_GPUS=2", 10));
    assert_false(job_env_has("SLURM_GPUS", 9));
    assert_false(job_env_has("SLURM_GPUS_X", 12));
}

static void test_tasks_are_spread_over_nodes(void **state)
{
    static const struct {
        const char *distribution;
        size_t n;
        uint32_t cpus[4], per_task, tasks, per_node, expect[4];
        bool packs, overcommit;
    } vectors[] = {
        {NULL, 0, {0}, 1, 5, 0, {0}, false, false},
        {NULL, 3, {4, 4, 4}, 0, 0, 0, {4, 4, 4}, false, false}, /* not specified: all that fit */
        {NULL, 2, {4, 3}, 2, 0, 0, {2, 1}, false, false},
        {NULL, 2, {1, 1}, 4, 0, 0, {1, 1}, false, false},
        {NULL, 2, {4, 4}, 1, 0, 3, {3, 3}, false, false},
        {NULL, 2, {8, 8}, 1, 8, 0, {4, 4}, false, false}, /* spare CPUs: in turns */
        {NULL, 2, {8, 8}, 1, 8, 0, {7, 1}, true, false},
        {"pack", 2, {8, 8}, 1, 8, 0, {7, 1}, false, false},
        {"cyclic", 2, {8, 8}, 1, 8, 0, {4, 4}, true, false},
        {"plane=4", 2, {8, 8}, 1, 6, 0, {4, 2}, false, false},
        {NULL, 3, {3, 1, 1}, 1, 5, 0, {3, 1, 1}, false, false},
        {NULL, 3, {4, 4, 4}, 1, 2, 0, {1, 1, 0}, false, false},
        {NULL, 2, {2, 2}, 1, 7, 0, {4, 3}, false, false}, /* more than the CPUs */
        {NULL, 2, {2, 2}, 1, 7, 0, {4, 3}, true, false},
        {NULL, 2, {8, 1}, 1, 6, 0, {3, 3}, false, true},
        {NULL, 2, {8, 8}, 1, 6, 3, {3, 3}, true, false},
        {NULL, 2, {0, 0}, 9, 4, 0, {2, 2}, false, false}, /* no CPUs that fit a task */
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint32_t got[4] = {0};
        struct job_env_node nodes[4] = {0};
        Pb__JobSpec s = PB__JOB_SPEC__INIT;

        s.distribution = (char *)vectors[i].distribution;
        s.cpus_per_task = vectors[i].per_task;
        s.ntasks_per_node = vectors[i].per_node;
        s.overcommit = vectors[i].overcommit;
        for (size_t n = 0; n < vectors[i].n; n++)
            nodes[n].cpus = vectors[i].cpus[n];
        job_env_spread(&s, vectors[i].packs, nodes, vectors[i].n, vectors[i].tasks, got);
        assert_memory_equal(got, vectors[i].expect, sizeof(got));
    }
}

static void test_tasks_of_an_arbitrary_distribution_are_spread_by_its_list(void **state)
{
    static const struct {
        const char *distribution, *list;
        uint32_t tasks, expect[3];
    } vectors[] = {
        {"arbitrary", "n2,n1,n2,n3,n2", 5, {1, 3, 1}},
        {"arbitrary", "n2,n1,n2,n3,n2", 2, {1, 1, 0}},
        {"arbitrary", "n2,n1", 3, {1, 1, 1}}, /* more tasks than list entries */
        {"arbitrary", NULL, 3, {1, 1, 1}},
        {"cyclic", "n2,n2,n2", 3, {1, 1, 1}},
    };
    const struct job_env_node nodes[] = {
        {"n1", 1, NULL, 0}, {"n2", 1, NULL, 0}, {"n3", 1, NULL, 0}};

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint32_t got[3] = {0};
        Pb__JobSpec s = PB__JOB_SPEC__INIT;

        s.distribution = (char *)vectors[i].distribution;
        s.req_nodes = (char *)vectors[i].list;
        job_env_spread(&s, false, nodes, 3, vectors[i].tasks, got);
        assert_memory_equal(got, vectors[i].expect, sizeof(got));
    }
}

/* Two nodes of 8 CPUs: gpu:a100:3,gpu:b200:1,nic:4 and gpu:a100:1. */
static void test_tasks_are_spread_by_generic_resources(void **state)
{
    static const struct {
        const char *per_task;
        uint32_t per_gpu, tasks, expect[2];
    } vectors[] = {
        {NULL, 0, 5, {3, 2}},
        {"gres:gpu:1", 0, 5, {4, 1}},
        {"gres:gpu", 0, 5, {4, 1}},
        {"gres:gpu:a100=1", 0, 4, {3, 1}},
        {"gres:gpu:1", 0, 0, {4, 1}},
        {"gres:gpu:2", 0, 2, {2, 0}},
        {"gres:nic:1,gres:gpu:b200", 0, 1, {1, 0}},
        {NULL, 2, 8, {6, 2}},
        {"gres:gpu:1", 0, 6, {3, 3}}, /* more tasks than GPUs */
        {"none", 0, 5, {3, 2}},
    };
    Pb__GresAlloc gres[4];
    Pb__GresAlloc *const list[] = {&gres[0], &gres[1], &gres[2], &gres[3]};
    static const struct {
        const char *name, *type;
        uint64_t count;
    } held[] = {{"gpu", "b200", 1}, {"gpu", "a100", 3}, {"nic", NULL, 4}, {"gpu", "a100", 1}};

    for (size_t i = 0; i < 4; i++) {
        pb__gres_alloc__init(&gres[i]);
        gres[i].name = (char *)held[i].name;
        gres[i].type = (char *)held[i].type;
        gres[i].count = held[i].count;
    }
    const struct job_env_node nodes[] = {{NULL, 8, list, 3}, {NULL, 8, list + 3, 1}};
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint32_t got[2] = {0};
        Pb__JobSpec s = PB__JOB_SPEC__INIT;

        s.tres_per_task = (char *)vectors[i].per_task;
        s.ntasks_per_gpu = vectors[i].per_gpu;
        job_env_spread(&s, false, nodes, 2, vectors[i].tasks, got);
        if (memcmp(got, vectors[i].expect, sizeof(got)) != 0)
            fail_msg("case %zu: %u and %u tasks", i, got[0], got[1]);
    }
}

static void test_tasks_that_a_request_implies(void **state)
{
    static const struct {
        uint32_t named, per_node, per_gpu;
        const char *per_task, *per_job;
        uint32_t tasks;
        const char *told;
    } vectors[] = {
        {0, 0, 0, NULL, NULL, 0, ""},
        {7, 0, 0, NULL, NULL, 7, ""}, /* job_env_each() writes it */
        {7, 2, 0, NULL, NULL, 7, ""},
        {0, 2, 0, NULL, NULL, 0, "SLURM_NPROCS=5 SLURM_NTASKS=5 "},
        {0, 0, 1, NULL, "gres:gpu:7", 7, "SLURM_NPROCS=5 SLURM_NTASKS=5 "},
        {0, 0, 0, "gres:gpu:1", "gres:gpu:7", 7, "SLURM_NPROCS=5 SLURM_NTASKS=5 "},
        {0, 0, 0, "gres:gpu:1", NULL, 0, ""},
    };
    static const uint32_t on_nodes[] = {3, 2};

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        Pb__JobSpec s = PB__JOB_SPEC__INIT;

        s.num_tasks = vectors[i].named;
        s.ntasks_per_node = vectors[i].per_node;
        s.ntasks_per_gpu = vectors[i].per_gpu;
        s.tres_per_task = (char *)vectors[i].per_task;
        s.tres_per_job = (char *)vectors[i].per_job;
        assert_int_equal(job_env_tasks(&s, 7), vectors[i].tasks);
        job_env_put_implied(&s, on_nodes, 2, put_variable, &text);
        assert_string_equal(str_cstr(&text), vectors[i].told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_not_given_set_no_variables),
        cmocka_unit_test(test_given_options_set_variables),
        cmocka_unit_test(test_tasks_are_spread_over_nodes),
        cmocka_unit_test(test_tasks_of_an_arbitrary_distribution_are_spread_by_its_list),
        cmocka_unit_test(test_tasks_are_spread_by_generic_resources),
        cmocka_unit_test(test_tasks_that_a_request_implies),
        cmocka_unit_test(test_every_member_of_the_spec_has_a_variable),
        cmocka_unit_test(test_tres_variables_list_requested_resources),
        cmocka_unit_test(test_memory_binding_variables_are_set),
        cmocka_unit_test(test_variable_names_of_jobs_are_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
