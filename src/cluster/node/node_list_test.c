/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/pb.h"
#include "cluster/cluster_test_util.h"
#include "cluster/node/node_list.h"

#define CONF                                                                                       \
    "NodeName=a[1-3] CPUs=4\nNodeName=b NodeAddr=10.0.0.1 CPUs=4\nNodeName=a[4-5] CPUs=4\n"        \
    "NodeName=c[01-12] CPUs=8 Weight=5\nPartitionName=p Nodes=a[1-5],c[01-12]\n"

/* Writes "a[1-3]*3 b ..."; checks that each record has exactly the requested fields. */
static void list_nodes(const struct cluster *c, const char *fields, bool group, size_t budget,
                       struct str *out)
{
    const ProtobufCMessageDescriptor *type = &pb__node_record__descriptor;
    struct node_query q = {.group = group};
    if (fields)
        pb_fields_add(&q.fields, type, fields);
    else
        q.fields = PB_ALL_FIELDS;
    uint64_t cursor = 0;
    bool more = true;
    str_clear(out);
    while (more) {
        _cleanup_arena_ struct arena arena;
        _cleanup_str_ struct str part = STR_INIT;
        uint64_t before = cursor;
        arena_init(&arena, 0);
        more = node_list(c, &q, &cursor, budget, &part);
        assert_true(cursor > before || c->nodes.len == cursor);
        const Pb__NodeList *l =
            arena_unpack(&arena, &pb__node_list__descriptor, part.data, part.len);
        assert_non_null(l);
        for (size_t i = 0; i < l->n_nodes; i++) {
            const Pb__NodeRecord *n = l->nodes[i];
            str_printf(out, "%s%s", out->len ? " " : "", n->name);
            if (n->has_count)
                str_printf(out, "*%u", n->count);
            pb_each_field (type, field)
                if (fields && field->id != 1 && field->id != 55 && pb_has(&n->base, field) &&
                    !pb_fields_have(&q.fields, field->id))
                    fail_msg("%s has %s, which nobody asked for", n->name, field->name);
        }
    }
}

static void assert_list(const struct cluster *c, const char *fields, bool group, const char *text)
{
    _cleanup_str_ struct str out = STR_INIT;
    list_nodes(c, fields, group, 1 << 20, &out);
    assert_string_equal(str_cstr(&out), text);
    if (group)
        return;
    list_nodes(c, fields, group, 0, &out); /* one node per part */
    assert_string_equal(str_cstr(&out), text);
}

#define ONE_BY_ONE "a1 a2 a3 b a4 a5 c01 c02 c03 c04 c05 c06 c07 c08 c09 c10 c11 c12"

static void test_equal_nodes_are_grouped(void **state)
{
    struct cluster *c = test_cluster(CONF);
    assert_list(c, NULL, false, ONE_BY_ONE);
    assert_list(c, "state", false, ONE_BY_ONE);
    assert_list(c, "state", true, "a[1-3],b,a[4-5],c[01-12]*18");
    assert_list(c, "", true, "a[1-3],b,a[4-5],c[01-12]*18");
    assert_list(c, "state partitions", true, "a[1-3]*3 b a[4-5],c[01-12]*14");
    assert_list(c, "weight", true, "a[1-3],b,a[4-5]*6 c[01-12]*12");
    /* Addresses that follow the name are equal. */
    assert_list(c, "addr", true, "a[1-3]*3 b a[4-5],c[01-12]*14");
    assert_list(c, NULL, true, "a[1-3]*3 b a[4-5]*2 c[01-12]*12");
    c->nodes.data[8]->drain = true;
    node_set_reason(c->nodes.data[8], "broken", 0, 1);
    assert_list(c, "state", true, "a[1-3],b,a[4-5],c[01-12]*18");
    assert_list(c, "weight drain", true, "a[1-3],b,a[4-5]*6 c[01-02]*2 c03 c[04-12]*9");
    assert_list(c, "reason", true, "a[1-3],b,a[4-5],c[01-02]*8 c03 c[04-12]*9");
    test_cluster_free(c);
}

/* The field's number is 64: in the second word of NodeFilter.fields. */
static void test_memory_of_the_system(void **state)
{
    struct cluster *c = test_cluster(CONF);
    c->nodes.data[8]->amounts.mem_mib -= 1; /* only this field differs */
    c->nodes.data[8]->mem_spec_mib = 1;
    assert_list(c, NULL, true, "a[1-3]*3 b a[4-5]*2 c[01-02]*2 c03 c[04-12]*9");
    assert_list(c, "weight", true, "a[1-3],b,a[4-5]*6 c[01-12]*12");
    assert_list(c, "real_memory_mib", true, "a[1-3],b,a[4-5],c[01-12]*18");
    assert_list(c, "mem_spec_mib", true, "a[1-3],b,a[4-5],c[01-02]*8 c03 c[04-12]*9");
    test_cluster_free(c);
}

static void test_nodes_asked_for(void **state)
{
    struct cluster *c = test_cluster(CONF);
    struct bitset *some = NULL;
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str out = STR_INIT;
    uint64_t cursor = 0;
    arena_init(&arena, 0);
    assert_int_equal(cluster_node_set(c, "a2,b,c[11-12]", &some, NULL), 0);
    struct node_query q = {.nodes = some, .fields = {{1 << 1}}, .group = true};
    assert_false(node_list(c, &q, &cursor, 1, &out));
    assert_int_equal(cursor, c->nodes.len);
    const Pb__NodeList *l = arena_unpack(&arena, &pb__node_list__descriptor, out.data, out.len);
    assert_int_equal(l->n_nodes, 1);
    assert_string_equal(l->nodes[0]->name, "a2,b,c[11-12]");
    assert_int_equal(l->nodes[0]->count, 4);
    str_clear(&out);
    bitset_zero(some);
    cursor = 0;
    assert_false(node_list(c, &q, &cursor, 1, &out));
    assert_int_equal(out.len, 0);
    bitset_free(some);
    test_cluster_free(c);
}

/* A long walk is done in parts, however short the listing is. */
static void test_long_list_is_written_in_parts(void **state)
{
    struct cluster *c = test_cluster("NodeName=n[1-10000] CPUs=4\nPartitionName=p Nodes=ALL\n");
    _cleanup_str_ struct str out = STR_INIT;
    list_nodes(c, "state", true, 1 << 20, &out);
    assert_string_equal(str_cstr(&out), "n[1-4096]*4096 n[4097-8192]*4096 n[8193-10000]*1808");
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_nodes_are_grouped),
        cmocka_unit_test(test_memory_of_the_system),
        cmocka_unit_test(test_nodes_asked_for),
        cmocka_unit_test(test_long_list_is_written_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
