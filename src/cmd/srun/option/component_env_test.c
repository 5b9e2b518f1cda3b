/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/component_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static char *const job[] = {
    (char *)"HOME=/root",
    (char *)"SLURM_HET_SIZE=3",
    (char *)"SLURM_JOB_ID=7",
    (char *)"SLURM_JOB_ID_HET_GROUP_0=7",
    (char *)"SLURM_JOB_ID_HET_GROUP_1=8",
    (char *)"SLURM_NTASKS=4",
    (char *)"SLURM_NTASKS_HET_GROUP_0=4",
    (char *)"SLURM_NTASKS_HET_GROUP_1=2",
    (char *)"SLURM_NTASKS_HET_GROUP_11=9",
    (char *)"SLURM_DISTRIBUTION=block", /* changed by the user */
    (char *)"SLURM_DISTRIBUTION_HET_GROUP_0=cyclic",
    (char *)"SLURM_DISTRIBUTION_HET_GROUP_1=plane",
    (char *)"SLURM_MEM_PER_CPU=100", /* only for the first component */
    (char *)"SLURM_MEM_PER_CPU_HET_GROUP_0=100",
    (char *)"SLURM_CPUS_PER_TASK_HET_GROUP_1=2", /* only for the second component */
    (char *)"=odd",
    (char *)"ODD",
    NULL,
};

static void expect_environment(uint32_t component, const char *const *expected)
{
    struct arena arena;
    size_t count = 0;

    arena_init(&arena, 0);
    char **chosen = component_env_choose(&arena, job, component);
    for (size_t i = 0; chosen[i] != NULL; i++)
        if (strstr(chosen[i], "_HET_GROUP_") == NULL)
            assert_string_equal(chosen[i], expected[count++]);
    assert_null(expected[count]);
    arena_done(&arena);
}

static void a_part_has_the_variables_of_its_component(void **state)
{
    (void)state;
    assert_true(component_env_is_given(job));
    expect_environment(0, (const char *const[]){"HOME=/root", "SLURM_HET_SIZE=3", "SLURM_JOB_ID=7",
                                                "SLURM_NTASKS=4", "SLURM_DISTRIBUTION=block",
                                                "SLURM_MEM_PER_CPU=100", "=odd", "ODD", NULL});
    expect_environment(1, (const char *const[]){"HOME=/root", "SLURM_HET_SIZE=3", "SLURM_JOB_ID=7",
                                                "SLURM_NTASKS=2", "SLURM_DISTRIBUTION=block",
                                                "=odd", "ODD", "SLURM_CPUS_PER_TASK=2", NULL});
    expect_environment(2, (const char *const[]){"HOME=/root", "SLURM_HET_SIZE=3", "SLURM_JOB_ID=7",
                                                "SLURM_DISTRIBUTION=block", "=odd", "ODD", NULL});
}

static void an_ordinary_environment_stays_as_it_is(void **state)
{
    static char *const plain[] = {(char *)"SLURM_JOB_ID=7", (char *)"SLURM_NTASKS=4", NULL};
    struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    assert_false(component_env_is_given(plain));
    char **chosen = component_env_choose(&arena, plain, 1);
    assert_string_equal(chosen[0], plain[0]);
    assert_string_equal(chosen[1], plain[1]);
    assert_null(chosen[2]);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_has_the_variables_of_its_component),
        cmocka_unit_test(an_ordinary_environment_stays_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
