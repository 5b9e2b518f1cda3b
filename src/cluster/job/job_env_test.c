/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job's environment says of its request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/str.h"
#include "cluster/job/job_env.h"

static void put(void *ctx, const char *name, const char *value)
{
    str_printf(ctx, "%s=%s ", name, value);
}

static void check(const Pb__JobSpec *s, const char *wanted)
{
    _cleanup_str_ struct str text = STR_INIT;

    job_env_each(s, put, &text);
    assert_string_equal(str_cstr(&text), wanted);
}

static void test_what_is_not_given_is_not_said(void **state)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.has_overcommit = true;
    s.tres_per_job = "gres:nic:2,gres:gpu:";
    check(&s, "");
}

static void test_what_is_given(void **state)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.name = "job";
    s.tres_per_job = "gres:gpu:a100:2,gres:nic:1,gres:gpu:1";
    s.gpu_bind = "closest";
    s.licenses = "foo:2";
    s.has_num_tasks = s.has_overcommit = s.overcommit = s.has_mem_per_cpu_mib = true;
    s.num_tasks = 3;
    s.mem_per_cpu_mib = 70;
    check(&s, "SLURM_GPUS=a100:2,1 SLURM_GPU_BIND=closest SLURM_JOB_LICENSES=foo:2 "
              "SLURM_JOB_NAME=job SLURM_MEM_PER_CPU=70 SLURM_NPROCS=3 SLURM_NTASKS=3 "
              "SLURM_OVERCOMMIT=1 SLURM_TRES_BIND=gres/gpu:closest ");
    s = (Pb__JobSpec)PB__JOB_SPEC__INIT;
    s.has_mem_per_node_mib = s.has_mem_per_cpu_mib = true;
    s.mem_per_node_mib = 80;
    check(&s, "SLURM_MEM_PER_NODE=80 ");
}

static void test_tres(void **state)
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
        check(&s, binds[i].said);
    }
}

static void test_memory(void **state)
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
        check(&s, str_cstr(&wanted));
    }
}

static void test_names(void **state)
{
    assert_true(job_env_has("SLURM_GPUS=2", 10));
    assert_false(job_env_has("SLURM_GPUS", 9));
    assert_false(job_env_has("SLURM_GPUS_X", 12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_given_is_not_said),
        cmocka_unit_test(test_what_is_given),
        cmocka_unit_test(test_tres),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
