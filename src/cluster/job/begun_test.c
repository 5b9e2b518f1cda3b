/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running jobs, the oldest first: in order of start, and after a restore. */
#include "cluster/cluster_test_util.h"

#define CONF CONS "NodeName=n CPUs=4\nPartitionName=p Nodes=ALL\n"

static struct job *begin_job(struct cluster *c, uint32_t id, int64_t start_at)
{
    struct job *j = test_job(c, id, "");
    attempt_make(j)->start_at = start_at;
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    return j;
}

static struct job *restore_running_job(struct cluster *c, uint32_t id, int64_t start_at)
{
    struct job *j = test_job(c, id, "");
    attempt_make(j)->start_at = start_at;
    job_load_state(c, j, PB__JOB_STATE__RUNNING);
    return j;
}

static void assert_ids(const struct cluster *c, const char *expected)
{
    struct str out = STR_INIT;
    vec_foreach (&c->begun.list, b)
        if (begun_job(c, b))
            str_printf(&out, "%s%u", out.len ? " " : "", b->id);
    assert_string_equal(str_cstr(&out), expected);
    str_done(&out);
}

static void begun_jobs_are_listed_in_order_of_their_start(void **state)
{
    struct cluster *c = test_cluster(CONF);
    (void)state;
    begin_job(c, 3, 10);
    struct job *j = begin_job(c, 1, 20);
    begin_job(c, 2, 20);
    assert_ids(c, "3 1 2");
    job_set_state(c, j, PB__JOB_STATE__PENDING, CAUSE_NONE, NULL);
    assert_ids(c, "3 2");
    j->restarts++;
    job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    job_set_state(c, j, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
    assert_ids(c, "3 2 1");
    test_cluster_free(c);
}

static void restored_jobs_are_sorted_by_their_start(void **state)
{
    struct cluster *c = test_cluster(CONF);
    (void)state;
    restore_running_job(c, 1, 30);
    restore_running_job(c, 2, 10);
    restore_running_job(c, 3, 10);
    begun_sort(c);
    assert_ids(c, "2 3 1");
    test_cluster_free(c);
}

/* Only a change of running jobs causes a new sort: other records are created and removed in each
 * turn. */
static void pending_jobs_cause_no_new_sort(void **state)
{
    struct cluster *c = test_cluster(CONF);
    (void)state;
    begin_job(c, 1, 10);
    struct job *waits = test_job(c, 2, "");
    job_load_state(c, waits, PB__JOB_STATE__PENDING);
    cluster_remove_job(c, waits);
    struct job *over = begin_job(c, 3, 20);
    job_set_state(c, over, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    cluster_remove_job(c, over);
    assert_false(c->begun.mixed);
    assert_ids(c, "1");
    test_cluster_free(c);
}

/* Ended jobs do not accumulate. */
static void ended_jobs_leave_the_list(void **state)
{
    struct cluster *c = test_cluster(CONF);
    (void)state;
    for (uint32_t id = 1; id <= 1000; id++) {
        struct job *j = begin_job(c, id, id);
        if (id % 500)
            job_set_state(c, j, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    }
    assert_true(c->begun.list.len < 100);
    assert_ids(c, "500 1000");
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begun_jobs_are_listed_in_order_of_their_start),
        cmocka_unit_test(restored_jobs_are_sorted_by_their_start),
        cmocka_unit_test(pending_jobs_cause_no_new_sort),
        cmocka_unit_test(ended_jobs_leave_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
