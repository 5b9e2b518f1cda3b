/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Priorities by the formulas of the multifactor manual; the numbers are those that Slurm shows. */
#include "sched/plan/prio.h"

#include <math.h>

#include "cluster/cluster_test_util.h"

/* Two nodes with four CPUs and 8000 MiB each: 'main' has both, 'b' and 'down' have the first. */
#define CLUSTER                                                                                    \
    "NodeName=n[1-2] CPUs=4 RealMemory=8000\n" CONS "DefMemPerCPU=100\n"                           \
    "PartitionName=main Nodes=ALL Default=YES PriorityJobFactor=5\n"                               \
    "PartitionName=b Nodes=n1 PriorityJobFactor=10\nPartitionName=down Nodes=n1 State=DOWN\n"
#define MULTI "PriorityType=priority/multifactor\n"
#define WEIGHTS                                                                                    \
    "PriorityWeightAge=1000\nPriorityMaxAge=0-00:02:00\nPriorityWeightJobSize=1000\n"              \
    "PriorityWeightPartition=1000\nPriorityWeightTRES=CPU=1000,Mem=500\nPriorityWeightQOS=100\n"

struct row {
    const char *spec;
    const char *part;
    uint32_t priority;
    double size, part_factor, cpu, mem;
    int64_t limit_sec;
};

static void check(const char *lines, const struct row *rows, size_t count)
{
    _cleanup_free_ char *text = mem_printf("%s%s", CLUSTER, lines);
    struct cluster *c = test_cluster(text);
    struct prio_rule r;

    prio_rule_init(&r, c);
    for (size_t i = 0; i < count; i++) {
        struct prio_factors f;
        struct job *j = test_job(c, (uint32_t)i + 1, rows[i].spec);
        j->part = cluster_find_part(c, rows[i].part);
        j->limit_sec = rows[i].limit_sec;
        prio_find(&r, j, 1000, &f);
        assert_int_equal(f.priority, rows[i].priority);
        assert_true(fabs(f.size - rows[i].size) < 1e-9);
        assert_true(fabs(f.part - rows[i].part_factor) < 1e-9);
        if (r.n_tres) {
            assert_true(fabs(f.tres[0] - rows[i].cpu) < 1e-9);
            assert_true(fabs(f.tres[1] - rows[i].mem) < 1e-9);
        }
    }
    prio_rule_done(&r);
    test_cluster_free(c);
}

static void test_weighted_sums(void **state)
{
    static const struct row rows[] = {
        /* A job that is not held has at least 1. */
        {"n=8", "main", 2275, .75, .5, 1, .05},
        {"N=2 n=3 nice=7", "main", 1564, .6875, .5, .375, .01875},
        {"n=2 mem-per-cpu=1000", "main", 1187, .375, .5, .25, .125},
        {"n=1", "main", 940, .3125, .5, .125, .00625},
        {"n=1", "b", 1568, .3125, 1, .25, .0125},
        {"n=1", "down", 668, .3125, .1, .25, .0125},
        {"n=1 nice=10000", "main", 1, .3125, .5, .125, .00625},
        {"n=1 nice=-2147483645", "b", 2147485213u, .3125, 1, .25, .0125},
        {"n=100000 mem-per-cpu=100000", "main", 2750, .75, .5, 1, 1}, /* factors are at most 1 */
    };
    check(MULTI WEIGHTS, rows, sizeof rows / sizeof rows[0]);
}

static void test_size_factor_follows_nodes_and_cpus(void **state)
{
    static const struct row small[] = {
        {"N=2 n=8", "main", 1, 0, .5, 0, 0},
        {"n=1", "main", 687, .6875, .5, 0, 0}, /* (1/2 + 7/8) / 2 */
        {"n=9", "main", 250, .25, .5, 0, 0},   /* more than the cluster has */
    };
    static const struct row by_time[] = {
        {"n=8", "main", 200, .2, .5, 0, 0, 300}, /* 8 CPUs / 5 minutes / 8 CPUs */
        {"n=2", "main", 25, .025, .5, 0, 0, 600},
        {"n=8", "main", 1000, 1, .5, 0, 0, 1},
    };
    static const struct row small_by_time[] = {{"n=8", "main", 800, .8, .5, 0, 0, 300}};

    check(MULTI "PriorityWeightJobSize=1000\nPriorityFavorSmall=YES\n", small, 3);
    check(MULTI "PriorityWeightJobSize=1000\nPriorityFlags=SMALL_RELATIVE_TO_TIME\n", by_time, 3);
    check(MULTI "PriorityWeightJobSize=1000\nPriorityFlags=SMALL_RELATIVE_TO_TIME\n"
                "PriorityFavorSmall=YES\n",
          small_by_time, 1);
}

static void test_factors_without_normalisation(void **state)
{
    static const struct row part[] = {{"n=1", "b", 100, .3125, 10, 0, 0}};
    static const struct row tres[] = {{"n=3", "main", 33, .4375, .5, 3, 300}};
    static const struct row both[] = {{"n=3", "main", 83, .4375, 5, 3, 300}};

    check(MULTI "PriorityWeightPartition=10\nPriorityFlags=NO_NORMAL_PART\n", part, 1);
    check(MULTI "PriorityWeightTRES=cpu=1,mem=0.1\nPriorityFlags=NO_NORMAL_TRES\n", tres, 1);
    check(MULTI "PriorityWeightTRES=cpu=1,mem=.1\nPriorityWeightPartition=10\n"
                "PriorityFlags=NO_NORMAL_ALL\n",
          both, 1);
}

static void test_gres_factors_are_weighted(void **state)
{
    static const struct {
        const char *spec;
        double any, typed;
    } rows[] = {{"n=1", 0, 0},
                {"N=2 gres=gpu:1", .25, 0},
                {"gres=gpu:a100:2", .25, .5},
                {"gres=gpu:1 per-job=gpu:3", .375, 0},
                {"n=1 gres=nic:1", 0, 0}};
    struct cluster *c = test_cluster("GresTypes=gpu,nic\n"
                                     "NodeName=n1 CPUs=4 Gres=gpu:a100:4,nic:1\n"
                                     "NodeName=n2 CPUs=4 Gres=gpu:v100:4\n" CONS
                                     "PartitionName=main Nodes=ALL\n" MULTI
                                     "PriorityWeightTRES=GRES/gpu=1000,gres/gpu:a100=1\n");
    struct prio_rule r;

    prio_rule_init(&r, c);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct prio_factors f;
        prio_find(&r, test_job(c, (uint32_t)i + 1, rows[i].spec), 0, &f);
        assert_true(fabs(f.tres[0] - rows[i].any) < 1e-9);
        assert_true(fabs(f.tres[1] - rows[i].typed) < 1e-9);
    }
    prio_rule_done(&r);
    test_cluster_free(c);
}

static void test_age_factor_follows_the_accrued_time(void **state)
{
    static const struct {
        int64_t accrue_at, accrued_sec, at_sec;
        uint32_t priority;
    } rows[] = {
        {1000, 0, 1000, 1},    {1000, 0, 1060, 500}, {1000, 0, 1120, 1000}, {1000, 0, 9999, 1000},
        {1000, 30, 1030, 500}, {0, 30, 5000, 250}, /* it keeps its age while it does not accrue */
        {1000, 0, 900, 1},                         /* the clock was set back */
    };
    struct cluster *c = test_cluster(CLUSTER MULTI "PriorityWeightAge=1000\n"
                                                   "PriorityMaxAge=0-00:02:00\n");
    struct prio_rule r;
    struct job *j = test_job(c, 1, "n=1");

    prio_rule_init(&r, c);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct prio_factors f;
        j->rank.accrue_at = rows[i].accrue_at;
        j->rank.accrued_sec = rows[i].accrued_sec;
        prio_find(&r, j, rows[i].at_sec, &f);
        assert_int_equal(f.priority, rows[i].priority);
    }
    prio_rule_done(&r);
    test_cluster_free(c);
}

static void test_unsupported_factors_are_zero(void **state)
{
    struct cluster *c = test_cluster(CLUSTER MULTI "PriorityWeightFairshare=1000\n"
                                                   "PriorityWeightAssoc=100\n"
                                                   "PriorityWeightQOS=10\n");
    struct prio_rule r;
    struct prio_factors f;
    struct job *j = test_job(c, 1, "n=1");

    prio_rule_init(&r, c);
    prio_find(&r, j, 0, &f);
    assert_int_equal(f.priority, 1); /* nothing was set explicitly */
    j->rank.fairshare = 0.5;
    j->rank.assoc = 0.25;
    j->rank.qos = 1;
    j->rank.site_factor = -35;
    prio_find(&r, j, 0, &f);
    assert_int_equal(f.priority, 500);
    assert_int_equal(f.site, -35);
    j->priority = 77;
    j->rank.given = true;
    prio_find(&r, j, 0, &f);
    assert_true(f.given && f.priority == 77 && f.site == 0);
    prio_rule_done(&r);
    test_cluster_free(c);
}

static void test_basic_priority_has_no_factors(void **state)
{
    struct cluster *c = test_cluster(CLUSTER WEIGHTS "PriorityType=priority/basic\n");
    struct prio_rule r;
    struct prio_factors f;
    struct job *j = test_job(c, 9, "n=1 nice=5");

    prio_rule_init(&r, c);
    assert_false(r.multifactor);
    assert_int_equal(prio_by_id(j), PRIO_TOP - 14);
    j->priority = 3;
    prio_find(&r, j, 0, &f);
    assert_int_equal(f.priority, 3);
    j->nice = INT32_MIN;
    assert_int_equal(prio_by_id(j), UINT32_MAX);
    j->nice = INT32_MAX;
    assert_int_equal(prio_by_id(j), PRIO_TOP - 9 - INT32_MAX);
    prio_rule_done(&r);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weighted_sums),
        cmocka_unit_test(test_size_factor_follows_nodes_and_cpus),
        cmocka_unit_test(test_factors_without_normalisation),
        cmocka_unit_test(test_age_factor_follows_the_accrued_time),
        cmocka_unit_test(test_gres_factors_are_weighted),
        cmocka_unit_test(test_unsupported_factors_are_zero),
        cmocka_unit_test(test_basic_priority_has_no_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
