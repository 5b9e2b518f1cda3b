/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/node/shape.h"

#include "cluster/cluster_test_util.h"

static void invalid_shape_fields_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"min_nodes", "'min_nodes' is not of the form FIELD=VALUE"},
        {"nodes=2", "'nodes' is not a field of a job's shape"},
        {"command=/bin/sh", "'command' is not a field of a job's shape"},
        {"min_nodes=", "min_nodes='' is not a number or too large"},
        {"min_nodes=-1", "min_nodes='-1' is not a number or too large"},
        {"min_nodes=4294967296", "min_nodes='4294967296' is not a number or too large"},
        {"exclusive=2", "exclusive='2' is not a number or too large"},
        {"num_tasks=3 nice=x", "nice='x' is not a number or too large"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        _cleanup_arena_ struct arena arena;
        Pb__JobSpec s = PB__JOB_SPEC__INIT;
        struct err err = {0};
        arena_init(&arena, 0);
        assert_int_equal(shape_parse(rows[i][0], &arena, &s, &err), -ERR_PARSE);
        assert_string_equal(err.text, rows[i][1]);
    }
}

/* Every field survives formatting and parsing; a name or a command is never written. */
static void shape_is_formatted_and_parsed_back(void **state)
{
    static const char text[] =
        "min_nodes=2 max_nodes=4 num_tasks=8 cpus_per_task=3 ntasks_per_node=2 ntasks_per_core=1 "
        "ntasks_per_socket=2 threads_per_core=1 min_cpus_per_node=4 mem_per_node_mib=9000000000 "
        "mem_per_cpu_mib=7 tmp_per_node_mib=5 features=a&b gres=gpu:2 contiguous=1 exclusive=0 "
        "oversubscribe=1 overcommit=1 nice=-5";
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    struct str out = STR_INIT;
    struct err err = {0};
    (void)state;
    arena_init(&arena, 0);
    shape_format(&s, &out);
    assert_int_equal(out.len, 0);
    if (shape_parse(text, &arena, &s, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(s.num_tasks, 8);
    assert_int_equal(s.nice, -5);
    assert_true(s.has_exclusive && !s.exclusive);
    s.name = s.command = s.comment = "secret";
    shape_format(&s, &out);
    assert_string_equal(str_cstr(&out), text);
    str_clear(&out);
    s.features = "a b\n"; /* would be other words */
    shape_format(&s, &out);
    assert_null(strstr(str_cstr(&out), "features"));
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(invalid_shape_fields_are_refused),
                                       cmocka_unit_test(shape_is_formatted_and_parsed_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
