/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forecast of a view for nodes equals the ledger when that time has come. */
#include "sched/plan/node_free.h"
#include "sched/sched_test_util.h"

#define CONF                                                                                       \
    CONS "GresTypes=gpu,nic\n"                                                                     \
         "NodeName=n[1-3] CPUs=8 RealMemory=8000 Gres=gpu:4,nic:2\n"                               \
         "NodeName=n[4-6] CPUs=4 RealMemory=4000\n"                                                \
         "PartitionName=all Nodes=ALL Default=YES OverSubscribe=NO\n"
#define JOBS 12
#define SEEDS 300

static const char *const requests[] = {
    "c=1",
    "c=3 mem=1000",
    "N=2 c=2",
    "c=2 gres=gpu:1",
    "gres=gpu:2 N=2",
    "c=1 gres=gpu:1,nic:1",
    "exclusive mem=500",
    "exclusive gres=gpu:1",
};

static struct free_view copy_now(const struct cluster *c)
{
    struct free_view v;
    pool_view_copy(&v, &c->pool.now, c->nodes.len, c->pool.gres_kinds);
    return v;
}

static void compare_with_books(const struct cluster *c, uint64_t seed, struct free_view *v)
{
    const struct free_view *now = &c->pool.now;
    for (size_t i = 0; i < c->nodes.len; i++) {
        if (v->units[i] != now->units[i] || !amounts_equal(&v->amounts[i], &now->amounts[i]))
            fail_msg("seed %llu: n%zu has %u units and %llu MiB, not %u and %llu",
                     (unsigned long long)seed, i + 1, now->units[i],
                     (unsigned long long)now->amounts[i].mem_mib, v->units[i],
                     (unsigned long long)v->amounts[i].mem_mib);
        for (size_t k = i * c->pool.gres_kinds; k < (i + 1) * c->pool.gres_kinds; k++)
            if (v->gres[k] != now->gres[k])
                fail_msg("seed %llu: n%zu has %llu devices, not %llu", (unsigned long long)seed,
                         i + 1, (unsigned long long)now->gres[k], (unsigned long long)v->gres[k]);
    }
    pool_view_done(v);
}

static bool start_job(struct cluster *c, uint64_t *chance, uint32_t id, uint64_t seed)
{
    struct job *j = test_job(c, id, requests[test_between(chance, 0, COUNT(requests) - 1)]);
    _cleanup_(select_done) struct selection where = {0};
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
    struct free_view v = copy_now(c);
    if (select_nodes(c, j, allowed, NULL, &where) != 0) {
        cluster_remove_job(c, j);
        pool_view_done(&v);
        return false;
    }
    vec_foreach (&where.shares, share) {
        struct node_free left = node_free_in(&v, share->node, c->pool.gres_kinds);
        node_free_take(left, &where, share);
        if (j->want.exclusive)
            node_free_close(left, c->pool.gres_kinds);
    }
    test_run_selection(c, j, &where, 1000);
    compare_with_books(c, seed, &v);
    return true;
}

static void end_job(struct cluster *c, struct job *j, uint64_t seed)
{
    struct free_view v = copy_now(c);
    vec_foreach (&attempt_of(j)->alloc, a) {
        const struct node *n = c->nodes.data[a->node];
        struct node_free left = node_free_in(&v, a->node, c->pool.gres_kinds);
        if (n->exclusive)
            node_free_open(left, n);
        else
            *left.units += a->units;
        node_free_give_back(left, n, a);
    }
    alloc_clear(c, j);
    compare_with_books(c, seed, &v);
}

static void a_view_agrees_with_the_books_when_jobs_begin_and_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t chance = seed;
        struct cluster *c = test_cluster(CONF);
        bool runs[JOBS + 1] = {0};
        test_up(c);
        for (uint32_t id = 1; id <= JOBS; id++) {
            runs[id] = start_job(c, &chance, id, seed);
            uint32_t other = test_between(&chance, 1, id);
            if (!runs[other] || test_between(&chance, 0, 1))
                continue;
            end_job(c, cluster_find_job(c, other), seed);
            runs[other] = false;
        }
        test_cluster_free(c);
    }
}

/* Each of the sharing jobs returns shared units and devices. */
static void a_node_has_no_more_than_it_is_configured_to_have(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(CONF);
    const struct node *n = c->nodes.data[0];
    struct free_view v = copy_now(c);
    struct node_free left = node_free_in(&v, 0, c->pool.gres_kinds);
    *left.units += 3;
    left.amounts->mem_mib += 1;
    left.gres[0] += 1;
    node_free_bound(left, n);
    assert_int_equal(*left.units, 8);
    assert_int_equal(left.amounts->mem_mib, 8000);
    assert_int_equal(left.gres[0], 4);
    pool_view_done(&v);
    test_cluster_free(c);
}

static void smaller_amount_is_free_in_both_views(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(CONF);
    struct free_view v = copy_now(c);
    struct node_free one = node_free_in(&v, 0, c->pool.gres_kinds),
                     other = node_free_in(&v, 3, c->pool.gres_kinds);
    node_free_limit(one, other, c->pool.gres_kinds);
    assert_int_equal(*one.units, 4);
    assert_int_equal(one.amounts->mem_mib, 4000);
    assert_int_equal(one.gres[0], 0);
    node_free_copy(other, node_free_in(&v, 1, c->pool.gres_kinds), c->pool.gres_kinds);
    node_free_limit(one, other, c->pool.gres_kinds);
    assert_int_equal(*one.units, 4);
    assert_int_equal(*other.units, 8);
    assert_int_equal(other.gres[1], 2);
    pool_view_done(&v);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_agrees_with_the_books_when_jobs_begin_and_end),
        cmocka_unit_test(a_node_has_no_more_than_it_is_configured_to_have),
        cmocka_unit_test(smaller_amount_is_free_in_both_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
