/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster_test_util.h"

static const char conf[] =
    CONS "NodeName=n[1-3] CPUs=4 RealMemory=1000\nPartitionName=p Nodes=ALL\n";

static void assert_ids(const struct job *j, const char *expected)
{
    _cleanup_str_ struct str out = STR_INIT;
    job_set_format_ids(j, &out);
    assert_string_equal(str_cstr(&out), expected);
}

static void assert_sound(const struct cluster *c)
{
    struct err err = {0};
    if (job_set_check(c, &err) != 0)
        fail_msg("%s", err.text);
    test_sound(c);
}

static void an_ordinary_job_is_a_set_of_one(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 7, "");
    (void)state;
    assert_int_equal(job_set_count(j), 1);
    assert_ptr_equal(job_set_component(j, 0), j);
    assert_int_equal(job_set_id(j), 7);
    assert_true(job_set_is_leader(j));
    assert_true(job_set_is_whole(j));
    assert_null(job_set_find(c, 7));
    assert_ids(j, "7");
    assert_sound(c);
    test_cluster_free(c);
}

/* In whatever order their records are read. */
static void components_join_in_any_order(void **state)
{
    static const uint32_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct cluster *c = test_cluster(conf);
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t offset = orders[i][k];
            struct job *j = test_job(c, 10 + offset, "");
            assert_int_equal(job_set_join(c, j, 10, offset, 3, NULL), 0);
            assert_int_equal(job_set_is_whole(j), k == 2);
            assert_sound(c);
        }
        struct job *second = cluster_find_job(c, 11);
        assert_int_equal(job_set_count(second), 3);
        assert_int_equal(job_set_id(second), 10);
        assert_false(job_set_is_leader(second));
        assert_int_equal(job_set_component(second, 2)->id, 12);
        assert_ids(second, "10-12");
        test_cluster_free(c);
    }
}

/* After a restart the record of one component tells the ids of all, also of those that are gone. */
static void record_of_one_component_tells_all_ids(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 11, "");
    (void)state;
    assert_int_equal(job_set_join(c, j, 10, 1, 3, NULL), 0);
    assert_ids(j, "11");
    job_set_learn_ids(j, "10-13"); /* not one for each */
    job_set_learn_ids(j, "10-x");
    job_set_learn_ids(j, "");
    assert_ids(j, "11");
    job_set_learn_ids(j, "10-11,15");
    assert_ids(j, "10-11,15");
    test_cluster_free(c);
}

/* The set outlives its leader's record, and not its last one. */
static void components_leave_with_their_records(void **state)
{
    struct cluster *c = test_cluster(conf);
    (void)state;
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(job_set_join(c, test_job(c, 20 + i, ""), 20, i, 5, NULL), 0);
    struct job *last = cluster_find_job(c, 24);
    cluster_remove_job(c, cluster_find_job(c, 22));
    assert_ids(last, "20-24");
    assert_false(job_set_is_whole(last));
    cluster_remove_job(c, cluster_find_job(c, 20));
    assert_null(job_set_component(last, 0));
    assert_int_equal(job_set_id(last), 20);
    assert_ids(last, "20-24");
    cluster_remove_job(c, cluster_find_job(c, 21));
    cluster_remove_job(c, cluster_find_job(c, 23));
    assert_ids(last, "20-24");
    assert_sound(c);
    assert_non_null(job_set_find(c, 20));
    cluster_remove_job(c, last);
    assert_null(job_set_find(c, 20));
    assert_sound(c);
    test_cluster_free(c);
}

/* Records that contradict themselves or one another make no set. */
static void damaged_records_are_refused(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct err err = {0};
    (void)state;
    struct job *leader = test_job(c, 30, ""), *other = test_job(c, 31, "");
    static const struct {
        uint32_t leader, offset, count;
    } wrong[] = {{30, 1, 0}, {30, 1, 1}, {30, 2, 2},
                 {30, 0, 2}, {31, 1, 2}, {30, 1, JOB_SET_MAX + 1}};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(
            job_set_join(c, other, wrong[i].leader, wrong[i].offset, wrong[i].count, &err),
            -ERR_STORE_DAMAGED);
        assert_null(other->set);
    }
    assert_int_equal(job_set_join(c, leader, 30, 0, 2, NULL), 0);
    assert_int_equal(job_set_join(c, other, 30, 1, 3, &err), -ERR_STORE_DAMAGED);
    assert_string_equal(err.text, "job 31: its record makes it component 1 of 3 of the "
                                  "heterogeneous job 30, which has 2 components");
    assert_int_equal(job_set_join(c, other, 30, 1, 2, NULL), 0);
    struct job *third = test_job(c, 32, "");
    assert_int_equal(job_set_join(c, third, 30, 1, 2, &err), -ERR_STORE_DAMAGED);
    assert_sound(c);
    test_cluster_free(c);
}

/* Names of components end names of environment variables, and are no numbers. */
static void names_are_checked(void **state)
{
    static const char *const bad[] = {"",    "0",   "3-4", "_a",
                                      "a-b", "a b", "a,b", "a+b",
                                      "a.b", "ä",   "a=b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
                             *const good[] = {"a", "io", "IO_2",
                                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (job_set_check_name(bad[i], &err) != -ERR_PARSE)
            fail_msg("'%s' is accepted", bad[i]);
        assert_non_null(strstr(err.text, "Invalid component name '"));
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(job_set_check_name(good[i], &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_job_is_a_set_of_one),
        cmocka_unit_test(components_join_in_any_order),
        cmocka_unit_test(record_of_one_component_tells_all_ids),
        cmocka_unit_test(components_leave_with_their_records),
        cmocka_unit_test(damaged_records_are_refused),
        cmocka_unit_test(names_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
