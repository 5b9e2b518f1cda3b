/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cmd/sbatch/environment.h"

static char *const outer[] = {"PATH=/bin",
                              "FOO=1",
                              "SLURM_JOB_ID=7",
                              "SLURM_NTASKS=9",
                              "SLURM_MINE=keep",
                              "PMI_RANK=3",
                              "SLURM_CONF=/c/s",
                              "HOME=/home/u",
                              "SLURM_HET_SIZE=2",
                              "SLURM_JOB_ID_HET_GROUP_1=8",
                              "SLURM_NNODES_PACK_GROUP_1=1",
                              "SLURM_PACK_SIZE=2",
                              NULL};
static char *const plain[] = {"PATH=/bin", "FOO=1", "SLURM_NTASKS=9", NULL};

static void make_job_environment(struct envlist *e, const char *export_env, char *const *from)
{
    struct opt o;
    opt_init(&o, OPT_SBATCH);
    o.export_env = mem_strdup(export_env);
    environment_make(e, &o, from, "login1", "/work");
    opt_done(&o);
}

static void test_outer_job_is_left_behind(void **state)
{
    struct envlist e = {0};
    make_job_environment(&e, NULL, outer);
    assert_null(envlist_get(&e, "SLURM_JOB_ID"));
    assert_null(envlist_get(&e, "SLURM_NTASKS"));
    assert_null(envlist_get(&e, "PMI_RANK"));
    assert_string_equal(envlist_get(&e, "SLURM_MINE"), "keep");
    assert_string_equal(envlist_get(&e, "FOO"), "1");
    assert_string_equal(envlist_get(&e, "SLURM_SUBMIT_DIR"), "/work");
    assert_string_equal(envlist_get(&e, "SLURM_SUBMIT_HOST"), "login1");
    envlist_done(&e);
    make_job_environment(&e, NULL, plain);
    assert_string_equal(envlist_get(&e, "SLURM_NTASKS"), "9");
    envlist_done(&e);
}

static void test_export_nil_keeps_what_programs_need(void **state)
{
    struct envlist e = {0};
    make_job_environment(&e, "NIL", outer);
    assert_null(envlist_get(&e, "FOO"));
    assert_string_equal(envlist_get(&e, "PATH"), "/bin");
    assert_string_equal(envlist_get(&e, "SLURM_CONF"), "/c/s");
    assert_string_equal(envlist_get(&e, "SLURM_EXPORT_ENV"), "NIL");
    envlist_done(&e);
}

static void test_export_none_leaves_the_rest_to_the_shell_of_the_user(void **state)
{
    struct envlist e = {0};
    make_job_environment(&e, "NONE", outer);
    assert_null(envlist_get(&e, "FOO"));
    assert_null(envlist_get(&e, "PATH"));
    assert_string_equal(envlist_get(&e, "SLURM_CONF"), "/c/s");
    assert_string_equal(envlist_get(&e, "SLURM_EXPORT_ENV"), "NONE");
    envlist_done(&e);
}

static void test_exports_that_imply_the_environment_of_the_user(void **state)
{
    static const struct {
        const char *export_env;
        bool implied;
    } vectors[] = {
        {NULL, false},  {"", false},   {"ALL", false},  {"all", false},     {"NIL", false},
        {"NONE", true}, {"FOO", true}, {"FOO=1", true}, {"ALL,FOO", false},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct opt o;
        opt_init(&o, OPT_SBATCH);
        o.export_env = vectors[i].export_env ? mem_strdup(vectors[i].export_env) : NULL;
        assert_int_equal(environment_of_user(&o), vectors[i].implied);
        opt_done(&o);
    }
}

static void test_export_list(void **state)
{
    struct envlist e = {0};
    make_job_environment(&e, "BAR=2,FOO", outer);
    assert_string_equal(envlist_get(&e, "BAR"), "2");
    assert_string_equal(envlist_get(&e, "FOO"), "1");
    envlist_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outer_job_is_left_behind),
        cmocka_unit_test(test_export_nil_keeps_what_programs_need),
        cmocka_unit_test(test_export_none_leaves_the_rest_to_the_shell_of_the_user),
        cmocka_unit_test(test_exports_that_imply_the_environment_of_the_user),
        cmocka_unit_test(test_export_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
