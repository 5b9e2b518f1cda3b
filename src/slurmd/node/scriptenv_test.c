/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/step_id.h"

#include "slurmd/node/scriptenv.h"

static struct conf conf = {.path = "/etc/slurm/slurm.conf", .cluster_name = "c1"};
static struct slurmd d = {.conf = &conf, .name = "n1"};

static bool has_line(char **env, const char *line)
{
    for (; *env; env++)
        if (!strcmp(*env, line))
            return true;
    return false;
}

static void assert_clean(char **env)
{
    for (char **p = env; *p; p++)
        assert_true(!strncmp(*p, "SLURM", 5) || !strcmp(*p, "PATH=/usr/sbin:/usr/bin:/sbin:/bin"));
}

/* Values are passed unchanged, and nothing of this process is inherited. */
static void test_environment_of_the_daemon_is_not_inherited(void **state)
{
    static const char *const names[] = {"LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV",
                                        "IFS",        "PYTHONPATH",      "HOME",     "SLURM_X"};
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    Pb__JobFacts facts = PB__JOB_FACTS__INIT;
    char **env;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        setenv(names[i], "/evil", 1);
    about.uid = 1000;
    about.facts = &facts;
    facts.job_name = "x\nLD_PRELOAD=/evil.so";
    facts.comment = "=";
    facts.account = "";
    env = scriptenv_prolog(&d, &about);
    assert_clean(env);
    assert_true(has_line(env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin"));
    assert_false(has_line(env, "SLURM_X=/evil"));
    assert_true(has_line(env, "SLURM_JOB_NAME=x\nLD_PRELOAD=/evil.so"));
    assert_true(has_line(env, "SLURM_JOB_COMMENT=="));
    assert_true(has_line(env, "SLURM_JOB_ACCOUNT="));
    scriptenv_free(env);
}

static void test_job_without_details_has_its_id(void **state)
{
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    char **env;

    about.job_id = 42;
    env = scriptenv_epilog(&d, &about);
    assert_clean(env);
    assert_true(has_line(env, "SLURM_JOB_ID=42") &&
                has_line(env, "SLURM_SCRIPT_CONTEXT=epilog_slurmd"));
    scriptenv_free(env);
}

static void test_all_variables_of_a_job_are_set(void **state)
{
    static const char *const want[] = {
        "SLURM_CONF=/etc/slurm/slurm.conf",
        "SLURM_CLUSTER_NAME=c1",
        "SLURMD_NODENAME=n1",
        "SLURM_JOB_ID=42",
        "SLURM_JOBID=42",
        "SLURM_JOB_RESTART_COUNT=2",
        "SLURM_JOB_UID=1000",
        "SLURM_UID=1000",
        "SLURM_JOB_GID=100",
        "SLURM_JOB_USER=ann",
        "SLURM_JOB_GROUP=users",
        "SLURM_JOB_NODELIST=n[1-3]",
        "SLURM_NODELIST=n[1-3]",
        "SLURM_JOB_PARTITION=main",
        "SLURM_JOB_NAME=a name",
        "SLURM_JOB_ACCOUNT=phys",
        "SLURM_JOB_WORK_DIR=/home/ann",
        "SLURM_JOB_COMMENT=c",
        "SLURM_JOB_CONSTRAINTS=gpu",
        "SLURM_JOB_STDIN=/dev/null",
        "SLURM_JOB_STDOUT=/home/ann/out",
        "SLURM_JOB_STDERR=/home/ann/err",
        "SLURM_JOB_CPUS_PER_NODE=4(x2),2",
        "SLURM_JOB_NUM_NODES=3",
        "SLURM_NTASKS=10",
    };
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    Pb__JobFacts facts = {PROTOBUF_C_MESSAGE_INIT(&pb__job_facts__descriptor),
                          .user_name = "ann",
                          .group_name = "users",
                          .nodes = "n[1-3]",
                          .has_num_nodes = true,
                          .num_nodes = 3,
                          .cpus_per_node = "4(x2),2",
                          .has_num_tasks = true,
                          .num_tasks = 10,
                          .partition = "main",
                          .job_name = "a name",
                          .account = "phys",
                          .work_dir = "/home/ann",
                          .comment = "c",
                          .constraints = "gpu",
                          .std_in = "/dev/null",
                          .std_out = "/home/ann/out",
                          .std_err = "/home/ann/err"};
    char **prolog, **epilog;

    about.job_id = 42;
    about.restarts = 2;
    about.uid = 1000;
    about.gid = 100;
    about.facts = &facts;
    about.has_exit_status = about.has_derived_status = true;
    about.derived_status = 9;
    prolog = scriptenv_prolog(&d, &about);
    epilog = scriptenv_epilog(&d, &about);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_true(has_line(prolog, want[i]) && has_line(epilog, want[i]));
    assert_true(has_line(prolog, "SLURM_SCRIPT_CONTEXT=prolog_slurmd"));
    assert_false(has_line(prolog, "SLURM_JOB_EXIT_CODE=0"));
    assert_true(has_line(epilog, "SLURM_JOB_DERIVED_EC=9"));
    scriptenv_free(prolog);
    scriptenv_free(epilog);
}

static void test_exit_code_variables_are_set(void **state)
{
    static const struct {
        int status;
        const char *code, *code2;
    } vectors[] = {
        {0, "SLURM_JOB_EXIT_CODE=0", "SLURM_JOB_EXIT_CODE2=0:0"},
        {3 << 8, "SLURM_JOB_EXIT_CODE=768", "SLURM_JOB_EXIT_CODE2=3:0"},
        {9, "SLURM_JOB_EXIT_CODE=9", "SLURM_JOB_EXIT_CODE2=0:9"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
        char **env;

        about.has_exit_status = true;
        about.exit_status = vectors[i].status;
        env = scriptenv_epilog(&d, &about);
        assert_true(has_line(env, vectors[i].code) && has_line(env, vectors[i].code2));
        scriptenv_free(env);
    }
}

static void test_unkillable_step_variables_are_set(void **state)
{
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    char **env;

    about.job_id = 42;
    env = scriptenv_unkillable(&d, &about, STEP_ID_BATCH);
    assert_clean(env);
    assert_true(has_line(env, "SLURM_JOB_ID=42") && has_line(env, "SLURM_STEP_ID=4294967291"));
    scriptenv_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment_of_the_daemon_is_not_inherited),
        cmocka_unit_test(test_job_without_details_has_its_id),
        cmocka_unit_test(test_all_variables_of_a_job_are_set),
        cmocka_unit_test(test_exit_code_variables_are_set),
        cmocka_unit_test(test_unkillable_step_variables_are_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
