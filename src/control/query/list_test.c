/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes that a request selects, and the fields in the listing. */
#include "base/pb.h"
#include "control/core/filter.h"
#include "control/fixture.h"
#include "control/query/metrics.h"

#define NODES                                                                                      \
    "NodeName=n[1-6] CPUs=4\nNodeName=m1 CPUs=4\nPartitionName=a Nodes=n[1-3]\n"                   \
    "PartitionName=b Nodes=n[3-4],m1\n"

static const Pb__NodeList *list_nodes(struct fixture *f, const Pb__NodeFilter *filter,
                                      struct arena *arena)
{
    struct caller root = FIXTURE_ROOT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    while (control_list_nodes(f->control, &root, filter, &cursor, 0, &out))
        ;
    const Pb__NodeList *l = arena_unpack(arena, &pb__node_list__descriptor, out.data, out.len);
    assert_non_null(l);
    assert_true(l->has_now);
    str_done(&out);
    return l;
}

static void expect_names(struct fixture *f, const char *nodes, const char *parts, const char *names)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str got = STR_INIT;
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    char *words[] = {(char *)parts, (char *)"nosuch"};
    arena_init(&arena, 0);
    filter.nodes = (char *)nodes;
    filter.partition = words;
    filter.n_partition = parts ? 2 : 0;
    const Pb__NodeList *l = list_nodes(f, &filter, &arena);
    for (size_t i = 0; i < l->n_nodes; i++) {
        str_printf(&got, "%s%s", i ? " " : "", l->nodes[i]->name);
        /* Ungrouped and complete, for commands that request nothing else. */
        assert_true(l->nodes[i]->has_state && l->nodes[i]->has_weight && l->nodes[i]->hostname);
        assert_false(l->nodes[i]->has_count);
    }
    assert_string_equal(str_cstr(&got), names);
}

static void test_filter_selects_nodes(void **state)
{
    struct fixture *f = fixture_new(NODES);
    expect_names(f, NULL, NULL, "n1 n2 n3 n4 n5 n6 m1");
    expect_names(f, "", NULL, "n1 n2 n3 n4 n5 n6 m1");
    expect_names(f, "m1,n[2-3],unknown", NULL, "n2 n3 m1");
    expect_names(f, "n[", NULL, "");
    expect_names(f, NULL, "a", "n1 n2 n3");
    expect_names(f, NULL, "nosuch", "");
    expect_names(f, "n[3-6],m1", "b", "n3 n4 m1");
    expect_names(f, "n[5-6]", "b", "");
    fixture_free(f);
}

static void test_filtered_nodes_are_grouped(void **state)
{
    _cleanup_arena_ struct arena arena;
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    struct fixture *f = fixture_new(NODES);
    arena_init(&arena, 0);
    filter.nodes = (char *)"n[1-5]";
    struct pb_fields fields = {0};
    pb_fields_add(&fields, &pb__node_record__descriptor, "partitions cpus");
    filter.fields = fields.words;
    filter.n_fields = PB_FIELD_WORDS;
    const Pb__NodeList *l = list_nodes(f, &filter, &arena);
    assert_int_equal(l->n_nodes, 5);
    assert_int_equal(l->nodes[4]->cpus, 4);
    assert_false(l->nodes[4]->has_state || l->nodes[4]->hostname || l->nodes[4]->has_count);
    filter.has_group = filter.group = true;
    struct caller root = FIXTURE_ROOT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    assert_false(control_list_nodes(f->control, &root, &filter, &cursor, 1 << 20, &out));
    l = arena_unpack(&arena, &pb__node_list__descriptor, out.data, out.len);
    assert_int_equal(l->n_nodes, 4);
    assert_string_equal(l->nodes[0]->name, "n[1-2]");
    assert_int_equal(l->nodes[0]->count, 2);
    assert_string_equal(l->nodes[1]->partitions, "a,b");
    assert_string_equal(l->nodes[3]->partitions, "");
    str_done(&out);
    fixture_free(f);
}

/* A stamp stands for the state at the first part of a list, in one run of the controller. */
static void test_unchanged_list_is_recognised_by_its_stamp(void **state)
{
    _cleanup_arena_ struct arena arena;
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    struct fixture *f = fixture_new(NODES);
    arena_init(&arena, 0);
    int64_t stamp = list_nodes(f, &filter, &arena)->stamp;
    assert_true(stamp != 0 && control_unchanged_since(f->control, stamp));
    assert_false(control_unchanged_since(f->control, 0));
    fixture_restart(f); /* with the same number of changes as before */
    int64_t next = list_nodes(f, &filter, &arena)->stamp;
    assert_false(control_unchanged_since(f->control, stamp));
    assert_true(control_unchanged_since(f->control, next));

    struct caller root = FIXTURE_ROOT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    assert_true(control_list_nodes(f->control, &root, &filter, &cursor, 0, &out));
    fixture_register(f, "n1", "a"); /* its record was already sent */
    while (control_list_nodes(f->control, &root, &filter, &cursor, 0, &out))
        ;
    const Pb__NodeList *l = arena_unpack(&arena, &pb__node_list__descriptor, out.data, out.len);
    assert_int_equal(l->nodes[0]->state, PB__NODE_BASE__NODE_UNKNOWN);
    assert_false(control_unchanged_since(f->control, l->stamp));
    str_done(&out);
    fixture_free(f);
}

/* A user cannot add lines or labels to the metrics. */
static void labels_of_users_are_quoted(void **state)
{
    struct fixture *f = fixture_new_up("NodeName=n1\nPartitionName=p Nodes=ALL Default=YES\n", 1);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    (void)state;
    spec.account = (char *)"a\"} 7\nb\\";
    assert_true(fixture_submit(f, &FIXTURE_USER, &spec) > 0);
    control_metrics(f->control, METRICS_USERS, &out);
    assert_non_null(strstr(str_cstr(&out), "{account=\"a\\\"} 7"));
    assert_non_null(strstr(str_cstr(&out), "b\\\\\"} 1\n"));
    assert_null(strstr(str_cstr(&out), "7\nb"));
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_of_users_are_quoted),
        cmocka_unit_test(test_filter_selects_nodes),
        cmocka_unit_test(test_filtered_nodes_are_grouped),
        cmocka_unit_test(test_unchanged_list_is_recognised_by_its_stamp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
