/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SchedulerParameters: how much of a queue is examined, and which jobs get a planned start. */
#include "sched/sched_test_util.h"

enum { NOW = 1000 };

static const struct queued {
    uint32_t id, uid;
    const char *part, *words;
    int64_t limit_sec, eligible_at;
} queue[] = {
    /* Does not fit either, and has its planned start behind job 2. */
    {2, 1, "p", "N=2 exclusive", 60, NOW - 10}, /* does not fit */
    {3, 1, "p", "N=2 exclusive", 70, NOW - 50},
    {4, 1, "p", "", 20, NOW}, /* fits and ends before the start of job 2 */
    {5, 2, "p", "", 90, NOW}, /* fits but would delay job 2 */
    {6, 1, "p", "", 30, NOW},
    {7, 2, "p", "", 30, NOW},
    {8, 1, "q", "N=1 exclusive", 60, NOW}, /* does not fit */
    {9, 2, "q", "", 10, NOW},
};

/* Returns the result of a pass: started jobs, planned starts ("2@100") and examined jobs ("5"). */
static char *plan_with(const char *parameters, bool backfill)
{
    _cleanup_free_ char *conf =
        mem_printf(CONS "%s%s\nNodeName=n[1-2] CPUs=4\nNodeName=m CPUs=4\nPartitionName=p "
                        "Nodes=n[1-2]\nPartitionName=q Nodes=m\n",
                   *parameters ? "SchedulerParameters=" : "", parameters);
    struct cluster *c = test_cluster(conf);
    struct str out = STR_INIT;
    struct plan p;
    struct decision d;
    test_up(c);
    test_run(c, 1, "n1:1 m:1", NOW + 40);
    for (size_t i = 0; i < COUNT(queue); i++) {
        _cleanup_free_ char *words = mem_printf("%s p=%s", queue[i].words, queue[i].part);
        struct job *j = test_job(c, queue[i].id, words);
        j->uid = queue[i].uid;
        j->limit_sec = queue[i].limit_sec;
        j->eligible_at = queue[i].eligible_at;
        j->priority = 100 - queue[i].id;
        job_partitions_queue(j);
    }
    plan_begin(&p, c, NULL, NOW, backfill);
    while (plan_next(&p, &d)) {
        str_printf(&out, "%s%s%u", out.len ? " " : "", d.kind == PLAN_START ? "+" : "", d.job->id);
        if (d.start_at)
            str_printf(&out, "@%lld", (long long)(d.start_at - NOW));
        if (d.kind == PLAN_START) {
            _cleanup_free_ char *where = test_selection(c, &d.where);
            struct job *j = test_follow(c, &d);
            job_partitions_end(j);
            test_run_job(c, j, where, NOW + j->limit_sec);
        }
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
    test_sound(c);
    test_cluster_free(c);
    return str_take(&out);
}

static void parameters_limit_the_examined_jobs(void **state)
{
    static const struct {
        const char *parameters, *plan;
    } cases[] = {
        /* The first job of q does not depend on the depth. */
        {"", "2@40 3 +4 5 +6 +7 8@40 +9"},
        {"bf_max_job_part=2", "2@40 3 +4 8@40 +9"},
        {"partition_job_depth=1", "2@40 3 8@40 +9"},
        {"bf_max_job_part=3,partition_job_depth=1", "2@40 3 +4 5 8@40 +9"},
        {"bf_max_job_test=3", "2@40 3 +4 5 8@40"},
        {"bf_max_job_test=5", "2@40 3 +4 5 +6 +7 8@40"},
        {"default_queue_depth=3", "2@40 3 +4 5 8@40"},
        {"bf_max_job_test=6,default_queue_depth=1", "2@40 3 +4 5 +6 +7 8@40 +9"},
        {"bf_max_job_user=2", "2@40 3 +4 5 6 +7 8@40 9"},
        {"bf_max_job_user=1", "2@40 3 4 5 6 7 8@40 9"},
        {"bf_max_job_user_part=1", "2@40 3 4 5 6 7 8@40 +9"},
        {"bf_job_part_count_reserve=1", "2@40 3 +4 5 +6 +7 8@40 +9"},
        {"bf_job_part_count_reserve=2", "2@40 3@100 +4 5 +6 +7 8@40 +9"},
        {"bf_min_age_reserve=11", "2 3@40 +4 5 +6 +7 8 +9"},
        {"bf_min_age_reserve=51", "2 3 +4 +5 +6 +7 8 +9"},
        {"bf_min_prio_reserve=98", "2@40 3 +4 5 +6 +7 8 +9"},
        {"bf_min_prio_reserve=99", "2 3 +4 +5 +6 +7 8 +9"},
        {"bf_window=1", "2@40 3 +4 5 +6 +7 8@40 +9"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *plan = plan_with(cases[i].parameters, true);
        if (!str_eq(plan, cases[i].plan))
            fail_msg("%s: expected '%s'\n     got '%s'", cases[i].parameters, cases[i].plan, plan);
    }
}

/* Without backfill, too, a job that is too young blocks no other job. */
static void young_job_blocks_no_other_without_backfill(void **state)
{
    (void)state;
    _cleanup_free_ char *none = plan_with("", false);
    assert_string_equal(none, "2 8");
    _cleanup_free_ char *young = plan_with("bf_min_age_reserve=11", false);
    assert_string_equal(young, "2 3 8 +9");
}

/* A start beyond the window is not planned: jobs that it would block start. */
static void no_start_is_planned_beyond_the_window(void **state)
{
    static const struct {
        const char *parameters;
        int64_t at;
        bool starts;
    } cases[] = {{"", NOW + 120, false},
                 {"SchedulerParameters=bf_window=2\n", NOW + 120, false},
                 {"SchedulerParameters=bf_window=1\n", 0, true}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *conf =
            mem_printf(CONS "%sNodeName=n CPUs=4\nPartitionName=p Nodes=n\n", cases[i].parameters);
        struct cluster *c = test_cluster(conf);
        struct plan p;
        struct decision d;
        test_up(c);
        test_run(c, 1, "n:1", NOW + 120);
        struct job *j = test_job(c, 2, "exclusive"), *k = test_job(c, 3, "");
        j->limit_sec = 60;
        k->limit_sec = 600;
        j->priority = 2;
        job_partitions_queue(j);
        job_partitions_queue(k);
        plan_begin(&p, c, NULL, NOW, true);
        assert_true(plan_next(&p, &d));
        assert_int_equal(d.job->id, 2);
        assert_int_equal(d.start_at, cases[i].at);
        free(d.detail);
        assert_true(plan_next(&p, &d));
        assert_int_equal(d.kind, cases[i].starts ? PLAN_START : PLAN_WAIT);
        plan_decision_done(&d);
        plan_end(&p);
        test_cluster_free(c);
    }
}

/* For a job that may run in two partitions. */
static void bf_one_resv_per_job_limits_planned_starts(void **state)
{
    (void)state;
    for (int one = 0; one < 2; one++) {
        _cleanup_free_ char *conf =
            mem_printf(CONS "%sNodeName=n CPUs=4\nNodeName=m CPUs=4\nPartitionName=p Nodes=n\n"
                            "PartitionName=q Nodes=m\n",
                       one ? "SchedulerParameters=bf_one_resv_per_job\n" : "");
        struct cluster *c = test_cluster(conf);
        struct plan p;
        struct decision d;
        test_up(c);
        test_run(c, 1, "n:1", NOW + 120);
        test_run(c, 2, "m:1", NOW + 60);
        struct job *j = test_job(c, 3, "exclusive p=p,q");
        job_partitions_queue(j);
        job_partitions_select(j, 1);
        job_partitions_queue(j);
        job_partitions_select_first(j);
        int64_t at[2];
        plan_begin(&p, c, NULL, NOW, true);
        for (int i = 0; i < 2; i++) {
            assert_true(plan_next(&p, &d));
            at[i] = d.start_at;
            free(d.detail);
        }
        assert_int_equal(at[0], NOW + 120);
        assert_int_equal(at[1], one ? NOW + 120 : NOW + 60);
        assert_int_equal(p.heads.len, one ? 1 : 2);
        plan_end(&p);
        test_cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_limit_the_examined_jobs),
        cmocka_unit_test(young_job_blocks_no_other_without_backfill),
        cmocka_unit_test(no_start_is_planned_beyond_the_window),
        cmocka_unit_test(bf_one_resv_per_job_limits_planned_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
