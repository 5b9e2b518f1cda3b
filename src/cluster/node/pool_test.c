/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster_test_util.h"

static const char conf[] = CONS "NodeName=a[1-200] CPUs=4 RealMemory=1000 Feature=x\n"
                                "NodeName=b[1-3] CPUs=4 RealMemory=1000 Feature=x\n"
                                "NodeName=c[1-70] CPUs=8 RealMemory=2000 Weight=3\n"
                                "PartitionName=p Nodes=ALL Default=YES\n";

static struct node *find_node(struct cluster *c, const char *name)
{
    struct node *n = cluster_find_node(c, name);
    assert_non_null(n);
    return n;
}

static uint32_t count_kinds(const struct cluster *c)
{
    uint32_t count = 0, nodes = 0;
    vec_foreach (&c->pool.kinds, k) {
        count += k->nodes > 0;
        nodes += k->nodes;
    }
    assert_int_equal(nodes, c->nodes.len);
    return count;
}

/* Each difference that a request can distinguish creates a kind, and a kind without nodes is
 * reused. */
static void distinguishable_nodes_have_different_kinds(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct node *n = find_node(c, "a7");

    (void)state;
    assert_int_equal(count_kinds(c), 2); /* configuration rows do not matter */
    assert_int_equal(c->pool.kind[n->index], c->pool.kind[find_node(c, "b2")->index]);
    n->weight = 9;
    pool_update(c, n);
    assert_int_equal(count_kinds(c), 3);
    assert_int_equal(c->pool.weight[n->index], 9);
    for (int64_t mem = 1; mem < 50; mem++) {
        n->amounts.mem_mib = mem;
        pool_update(c, n);
        test_sound(c);
    }
    assert_int_equal(c->pool.kinds.len, 3); /* a free entry is reused */
    free(n->features);
    n->features = mem_strdup("x,y");
    pool_update(c, n);
    assert_string_equal(c->pool.kinds.data[c->pool.kind[n->index]].features, "x,y");
    n->weight = n->row->weight;
    n->amounts.mem_mib = 1000;
    free(n->features);
    n->features = mem_strdup("x");
    pool_update(c, n);
    assert_int_equal(count_kinds(c), 2);
    test_sound(c);
    test_cluster_free(c);
}

static void node_counts_agree_with_a_naive_count(void **state)
{
    struct cluster *c = test_cluster(conf);
    _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len);
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 300; i++) {
        uint32_t naive[400] = {0}, rare = test_between(&seed, 1, 40);
        struct node *n = c->nodes.data[test_between(&seed, 0, (uint32_t)c->nodes.len - 1)];
        n->weight = test_between(&seed, 0, 3);
        pool_update(c, n);
        bitset_zero(set);
        for (uint32_t at = 0; at < c->nodes.len; at++)
            if (i == 0 || test_between(&seed, 1, rare) == 1) {
                bitset_set(set, at);
                naive[c->pool.kind[at]]++;
            }
        _cleanup_free_ uint32_t *count = pool_count_kinds(&c->pool, set);
        assert_memory_equal(count, naive, c->pool.kinds.len * sizeof *count);
    }
    test_cluster_free(c);
}

/* Every missing update is detected. */
static void check_detects_missing_updates(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct node *n = find_node(c, "c70");
    struct unit_use *use = mem_new_array(struct unit_use, 8);

    (void)state;
    test_up(c);
    test_sound(c);
    for (int what = 0; what < 8; what++) {
        struct node before = *n;
        n->drain = what == 0;
        n->exclusive = what == 1;
        n->jobs = what == 2;
        n->use = what == 3 ? use : NULL;
        n->weight += what == 4;
        n->tmp_mib += what == 5;
        n->used.mem_mib += what == 6;
        n->free_units -= what == 7;
        struct err err = {0};
        assert_int_equal(pool_check(c, &err), -ERR_INTERNAL);
        assert_non_null(strstr(err.text, "c70"));
        pool_update(c, n);
        assert_int_equal(pool_check(c, &err), 0);
        *n = before;
        pool_update(c, n);
    }
    free(use);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(distinguishable_nodes_have_different_kinds),
                                       cmocka_unit_test(node_counts_agree_with_a_naive_count),
                                       cmocka_unit_test(check_detects_missing_updates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
