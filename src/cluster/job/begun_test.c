/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running jobs, the oldest first: in order of start, and after a restore. */
#include "cluster/cluster_test_util.h"

#define CONF CONS "NodeName=n CPUs=4\nPartitionName=p Nodes=ALL\n"

static struct job *begin(struct cluster *c, uint32_t id, int64_t start_at)
{
    struct job *j = test_job(c, id, "");
    attempt_make(j)->start_at = start_at;
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    return j;
}

static struct job *restore(struct cluster *c, uint32_t id, int64_t start_at)
{
    struct job *j = test_job(c, id, "");
    attempt_make(j)->start_at = start_at;
    job_load_state(c, j, PB__JOB_STATE__RUNNING);
    return j;
}

static void ids_are(const struct cluster *c, const char *expected)
{
    struct str out = STR_INIT;
    vec_foreach (&c->begun.list, b)
        if (begun_job(c, b))
            str_printf(&out, "%s%u", out.len ? " " : "", b->id);
    assert_string_equal(str_cstr(&out), expected);
    str_done(&out);
}

static void as_they_begin(void **state)
{
    struct cluster *c = test_cluster(CONF);
    (void)state;
    begin(c, 3, 10);
    struct job *j = begin(c, 1, 20);
    begin(c, 2, 20);
    ids_are(c, "3 1 2");
    job_set_state(c, j, PB__JOB_STATE__PENDING, CAUSE_NONE, NULL);
    ids_are(c, "3 2");
    j->restarts++;
    job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    job_set_state(c, j, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
    ids_are(c, "3 2 1");
    test_cluster_free(c);
}

static void as_they_are_restored(void **state)
{
    struct cluster *c = test_cluster(CONF);
    (void)state;
    restore(c, 1, 30);
    restore(c, 2, 10);
    restore(c, 3, 10);
    begun_sort(c);
    ids_are(c, "2 3 1");
    test_cluster_free(c);
}

/* Only a change of running jobs causes a new sort: other records are created and removed in each
 * turn. */
static void others_change_nothing(void **state)
{
    struct cluster *c = test_cluster(CONF);
    (void)state;
    begin(c, 1, 10);
    struct job *waits = test_job(c, 2, "");
    job_load_state(c, waits, PB__JOB_STATE__PENDING);
    cluster_remove_job(c, waits);
    struct job *over = begin(c, 3, 20);
    job_set_state(c, over, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    cluster_remove_job(c, over);
    assert_false(c->begun.mixed);
    ids_are(c, "1");
    test_cluster_free(c);
}

/* Ended jobs do not accumulate. */
static void old_ones_go(void **state)
{
    struct cluster *c = test_cluster(CONF);
    (void)state;
    for (uint32_t id = 1; id <= 1000; id++) {
        struct job *j = begin(c, id, id);
        if (id % 500)
            job_set_state(c, j, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    }
    assert_true(c->begun.list.len < 100);
    ids_are(c, "500 1000");
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_they_begin),
        cmocka_unit_test(as_they_are_restored),
        cmocka_unit_test(others_change_nothing),
        cmocka_unit_test(old_ones_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
