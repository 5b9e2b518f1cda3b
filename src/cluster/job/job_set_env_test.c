/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/job_set_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cluster/job/job_set.h"

struct seen {
    struct str text; /* a line each */
    size_t bytes;
};

static void note_variable(void *ctx, const char *name, const char *value)
{
    struct seen *seen = ctx;

    str_printf(&seen->text, "%s=%s\n", name, value);
    seen->bytes += strlen(name) + strlen(value) + 2 + sizeof(char *);
}

static void each_component_has_variables_of_its_own(void **state)
{
    static char *const first[] = {"SLURM_JOB_ID=5", "HOME=/root", "SLURM_NTASKS=2",
                                  "SBATCH_MEM_BIND=none"};
    static char *const second[] = {"SLURM_JOB_ID=6", "SLURM_JOB_NAME=a=b"};
    const struct job_set_env components[] = {{first, 4}, {NULL, 0, "x"}, {second, 2, "i_o2"}};
    struct seen seen = {0};

    (void)state;
    assert_int_equal(job_set_env_each(components, 3, note_variable, &seen), 0);
    assert_string_equal(str_cstr(&seen.text), "SLURM_HET_SIZE=3\n"
                                              "SLURM_PACK_SIZE=3\n"
                                              "SLURM_JOB_ID_HET_GROUP_0=5\n"
                                              "SLURM_NTASKS_HET_GROUP_0=2\n"
                                              "SLURM_JOB_ID_HET_GROUP_2=6\n"
                                              "SLURM_JOB_NAME_HET_GROUP_2=a=b\n"
                                              "SLURM_JOB_ID_HET_GROUP_I_O2=6\n"
                                              "SLURM_JOB_NAME_HET_GROUP_I_O2=a=b\n"
                                              "SLURM_JOB_ID_PACK_GROUP_0=5\n"
                                              "SLURM_NTASKS_PACK_GROUP_0=2\n"
                                              "SLURM_JOB_ID_PACK_GROUP_2=6\n"
                                              "SLURM_JOB_NAME_PACK_GROUP_2=a=b\n");
    str_done(&seen.text);
}

static size_t count_of(const struct seen *seen, const char *word)
{
    size_t count = 0;

    for (const char *at = str_cstr(&seen->text); (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

/* A larger set gets fewer variables; the bytes never exceed the limit. */
static void variables_of_large_sets_are_limited(void **state)
{
    static const struct {
        size_t name, nodes; /* bytes of these values in each component */
        size_t names, node_lists, named, former, ids, left_out;
    } rows[] = {
        {700, 500, JOB_SET_MAX, JOB_SET_MAX, 3, 3 * JOB_SET_MAX, JOB_SET_MAX, 0},
        {3000, 500, JOB_SET_MAX, JOB_SET_MAX, 3, 0, JOB_SET_MAX, 0},
        {3765, 200, JOB_SET_MAX, JOB_SET_MAX, 0, 0, JOB_SET_MAX, 0},
        {5000, 500, 0, JOB_SET_MAX, 0, 0, JOB_SET_MAX, JOB_SET_MAX},
        {5000, 5000, 0, 0, 0, 0, JOB_SET_MAX, 2 * JOB_SET_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job_set_env components[JOB_SET_MAX];
        struct seen seen = {0};
        _cleanup_free_ char *name = mem_alloc(rows[i].name + 1),
                            *nodes = mem_alloc(rows[i].nodes + 1);
        memset(name, 'x', rows[i].name);
        memset(nodes, 'x', rows[i].nodes);
        name[rows[i].name] = nodes[rows[i].nodes] = '\0';
        _cleanup_free_ char *name_var = mem_printf("SLURM_JOB_NAME=%s", name),
                            *nodes_var = mem_printf("SLURM_JOB_NODELIST=%s", nodes);
        char *const vars[] = {name_var, nodes_var, "SLURM_JOB_ID=5"};

        for (size_t k = 0; k < JOB_SET_MAX; k++)
            components[k] = (struct job_set_env){vars, 3, k ? NULL : "io"};
        assert_int_equal(job_set_env_each(components, JOB_SET_MAX, note_variable, &seen),
                         rows[i].left_out);
        size_t again = rows[i].named ? 1 : 0; /* by the name of the first component */
        assert_int_equal(count_of(&seen, "_HET_GROUP_IO="), rows[i].named);
        assert_int_equal(count_of(&seen, "SLURM_JOB_NAME_HET_GROUP_"), rows[i].names + again);
        assert_int_equal(count_of(&seen, "SLURM_JOB_NODELIST_HET_GROUP_"),
                         rows[i].node_lists + again);
        assert_int_equal(count_of(&seen, "_PACK_GROUP_"), rows[i].former);
        assert_int_equal(count_of(&seen, "SLURM_JOB_ID_HET_GROUP_"), rows[i].ids + again);
        assert_int_equal(count_of(&seen, "SLURM_HET_SIZE=128\n"), 1);
        assert_true(seen.bytes <= JOB_SET_ENV_MAX + 100); /* and the two sizes */
        str_done(&seen.text);
    }
}

/* Of a variable that execve() would refuse nothing is left. */
static void too_long_variable_is_left_out(void **state)
{
    _cleanup_free_ char *nodes = mem_alloc(JOB_SET_ENV_ONE);
    struct seen seen = {0};

    (void)state;
    memset(nodes, 'x', JOB_SET_ENV_ONE - 1);
    nodes[JOB_SET_ENV_ONE - 1] = '\0';
    memcpy(nodes, "SLURM_NODELIST=", 15);
    char *const vars[] = {nodes, "SLURM_NTASKS=2"};
    const struct job_set_env components[] = {{vars, 2}, {vars + 1, 1}};
    assert_int_equal(job_set_env_each(components, 2, note_variable, &seen), 1);
    assert_int_equal(count_of(&seen, "SLURM_NODELIST_HET_GROUP_"), 0);
    assert_int_equal(count_of(&seen, "SLURM_NTASKS_HET_GROUP_"), 2);
    str_done(&seen.text);
}

static void names_are_recognized(void **state)
{
    static const struct {
        const char *name;
        bool is;
    } rows[] = {
        {"SLURM_HET_SIZE", true},
        {"SLURM_PACK_SIZE", true},
        {"SLURM_JOB_ID_HET_GROUP_0", true},
        {"SLURM_JOB_ID_PACK_GROUP_127", true},
        {"SLURM_JOB_ID_HET_GROUP_", false},
        {"SLURM_JOB_ID_HET_GROUP_1x", false},
        {"SLURM_JOB_ID_HET_GROUP_IO_2", true},
        {"SLURM_JOB_ID_HET_GROUP_io", false},
        {"SLURM_JOB_ID_PACK_GROUP_IO", false},
        {"SLURM_JOB_ID", false},
        {"SLURM_HET_SIZE_OF_MINE", false},
        {"MY_HET_GROUP_1", false},
        {"_HET_GROUP_1", false},
        {"1", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (job_set_env_has(rows[i].name, strlen(rows[i].name)) != rows[i].is)
            fail_msg("%s", rows[i].name);
}

static void add_name(void *ctx, const char *name)
{
    str_printf(ctx, "%s\n", name);
}

static void a_variable_of_a_component_has_a_name_in_each_spelling(void **state)
{
    _cleanup_str_ struct str names = STR_INIT;
    (void)state;
    job_set_env_each_name("SLURM_NNODES", NULL, 0, add_name, &names);
    job_set_env_each_name("SLURM_NTASKS", "io", 12, add_name, &names);
    assert_string_equal(str_cstr(&names), "SLURM_NNODES_HET_GROUP_0\nSLURM_NNODES_PACK_GROUP_0\n"
                                          "SLURM_NTASKS_HET_GROUP_12\nSLURM_NTASKS_HET_GROUP_IO\n"
                                          "SLURM_NTASKS_PACK_GROUP_12\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_component_has_variables_of_its_own),
        cmocka_unit_test(variables_of_large_sets_are_limited),
        cmocka_unit_test(too_long_variable_is_left_out),
        cmocka_unit_test(names_are_recognized),
        cmocka_unit_test(a_variable_of_a_component_has_a_name_in_each_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
