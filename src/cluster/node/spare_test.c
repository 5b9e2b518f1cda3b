/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/node/spare.h"

#include "cluster/cluster_test_util.h"

#define NODES 12

static uint32_t draw_number(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1;
    return (uint32_t)(*seed >> 33) % below;
}

/* Whether some choice of nodes works: tries the nodes with the most tasks, up to the maximum. */
static bool has_choice(const uint32_t *cpus, const bool *whole, const struct spare_need *need)
{
    uint64_t tasks = 0;
    uint32_t nodes = 0, most = 0;
    bool taken[NODES] = {false};
    for (;;) {
        int best = -1;
        for (int i = 0; i < NODES; i++)
            if (!taken[i] && (!need->whole || whole[i]) && cpus[i] >= need->node_cpus &&
                cpus[i] >= need->cpus && (best < 0 || cpus[i] > cpus[best]))
                best = i;
        if (best < 0 || nodes == need->max_nodes)
            return false;
        most = cpus[best] / need->cpus;
        tasks += need->tasks_per_node && most > need->tasks_per_node ? need->tasks_per_node : most;
        taken[best] = true;
        if (++nodes >= need->nodes && tasks >= need->tasks)
            return true;
    }
}

/* The test is never negative if a choice exists; without further conditions it is then exact. */
static void spare_test_never_denies_a_possible_choice(void **state)
{
    uint64_t seed = 11;
    struct spare s;
    uint32_t cpus[NODES] = {0};
    bool whole[NODES] = {false};
    unsigned yes = 0, no = 0;
    (void)state;
    spare_init(&s, NODES);
    for (int i = 0; i < 20000; i++) {
        uint32_t n = draw_number(&seed, NODES);
        cpus[n] = draw_number(&seed, 3) ? draw_number(&seed, 9) : 0;
        whole[n] = cpus[n] == 8;
        spare_set(&s, n, cpus[n], whole[n]);
        struct spare_need need = {.nodes = 1 + draw_number(&seed, 4),
                                  .tasks = 1 + draw_number(&seed, 24),
                                  .cpus = 1 + draw_number(&seed, 4),
                                  .node_cpus = draw_number(&seed, 3) ? 0 : draw_number(&seed, 9),
                                  .tasks_per_node =
                                      draw_number(&seed, 3) ? 0 : 1 + draw_number(&seed, 4),
                                  .whole = draw_number(&seed, 4) == 0};
        need.max_nodes = draw_number(&seed, 2) ? UINT32_MAX : need.nodes + draw_number(&seed, 4);
        bool fact = has_choice(cpus, whole, &need), said = spare_might_do(&s, &need);
        if (fact && !said)
            fail_msg("a wrong no in step %d", i);
        if (!fact && said)
            assert_true(need.whole);
        yes += said;
        no += !said;
    }
    assert_true(yes > 2000 && no > 2000);
    spare_done(&s);
}

static void index_counts_open_and_whole_nodes(void **state)
{
    struct spare s;
    (void)state;
    spare_init(&s, 3);
    assert_true(bitset_empty(s.open));
    assert_false(spare_might_do(
        &s, &(struct spare_need){.nodes = 1, .tasks = 1, .max_nodes = 9, .cpus = 1}));
    spare_set(&s, 1, 500, true);
    assert_true(bitset_test(s.open, 1));
    assert_int_equal(s.whole, 1);
    assert_int_equal(bitset_count(s.open), 1);
    spare_set(&s, 1, 0, false);
    assert_int_equal(s.whole, 0);
    assert_true(bitset_empty(s.open));
    spare_done(&s);
}

/* Drained, down and allocated nodes are not spare. */
static void index_follows_the_state_of_nodes(void **state)
{
    struct cluster *c = test_cluster(CONS "NodeName=n[1-3] CPUs=4 RealMemory=1000\n"
                                          "PartitionName=p Nodes=ALL Default=YES\n");
    struct node *n = cluster_find_node(c, "n2");
    (void)state;
    test_up(c);
    assert_int_equal(bitset_count(c->pool.spare.open), 3);
    assert_int_equal(c->pool.spare.whole, 3);
    n->drain = true;
    pool_update(c, n);
    assert_int_equal(c->pool.spare.whole, 2);
    assert_false(bitset_test(c->pool.spare.open, n->index));
    n->drain = false;
    pool_update(c, n);
    assert_int_equal(c->pool.spare.nodes[n->index].cpus, 4);
    test_sound(c);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_counts_open_and_whole_nodes),
        cmocka_unit_test(spare_test_never_denies_a_possible_choice),
        cmocka_unit_test(index_follows_the_state_of_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
