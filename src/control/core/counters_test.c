/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "control/fixture.h"

#define DAY_MS INT64_C(86400000)

static Pb__DiagCounters get_counters(struct fixture *f)
{
    Pb__DiagCounters n = PB__DIAG_COUNTERS__INIT;
    control_diag(f->control, &n);
    return n;
}

static int64_t advance_usec(void *ctx)
{
    static int64_t now;
    return now += 7;
}

static struct fixture *make_fixture(void)
{
    struct fixture *f = fixture_new("NodeName=n1 CPUs=2 RealMemory=1000\n"
                                    "PartitionName=a Nodes=ALL Default=YES\n");
    f->env.work_usec = advance_usec;
    fixture_register(f, "n1", "i1");
    return f;
}

static int64_t submit_job(struct fixture *f, uint32_t cpus, int64_t limit_sec)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_cpus_per_task = s.has_time_limit_sec = true;
    s.cpus_per_task = cpus;
    s.time_limit_sec = limit_sec;
    return fixture_submit(f, &user, &s);
}

static void jobs_and_passes_are_counted(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t running = (uint32_t)submit_job(f, 1, 600);
    submit_job(f, 2, 600); /* waits for both CPUs */
    submit_job(f, 1, 60);  /* ends before: backfilled */
    Pb__DiagCounters n = get_counters(f);
    assert_int_equal(n.jobs_submitted, 3);
    assert_int_equal(n.jobs_started, 2);
    assert_int_equal(n.bf_backfilled_jobs, 1);
    assert_int_equal(n.bf_last_backfilled_jobs, 1);
    assert_true(n.bf_cycle_counter >= 1 && n.bf_depth_sum >= 1 && n.bf_depth_try_sum >= 1);
    assert_true(n.bf_table_size >= 1);
    assert_true(n.schedule_cycle_total > n.bf_cycle_counter);
    assert_true(n.schedule_cycle_sum >= n.schedule_cycle_max && n.schedule_cycle_max >= 7);
    assert_true(n.schedule_cycle_sum >= n.bf_cycle_sum && n.bf_cycle_sum >= 7);
    fixture_launched(f, "n1", running, 0);
    fixture_batch_ended(f, "n1", running, 0, 3 << 8);
    n = get_counters(f);
    assert_int_equal(n.jobs_completed, 1);
    assert_int_equal(n.jobs_canceled + n.jobs_failed, 0);
    fixture_free(f);
}

static int64_t submit_set(struct fixture *f)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT};
    specs[0].has_time_limit_sec = specs[1].has_time_limit_sec = true;
    specs[0].time_limit_sec = specs[1].time_limit_sec = 60;
    return fixture_submit_set(f, &user, specs, 2);
}

/* HET-128: every component counts if the heterogeneous job was backfilled, in both modes of
 * planning. */
static void backfilled_components_are_counted(void **state)
{
    static const char *const modes[] = {"", "SchedulerParameters=hetjob_two_mode,bf_interval=10\n"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char conf[200];
        snprintf(conf, sizeof conf,
                 "%sNodeName=n[1-2] CPUs=4\nPartitionName=a Nodes=ALL Default=YES\n", modes[i]);
        struct fixture *f = fixture_new_up(conf, 2);
        submit_set(f); /* no job waits before it */
        assert_int_equal(get_counters(f).jobs_started, 2);
        assert_int_equal(get_counters(f).bf_backfilled_het_jobs, 0);
        submit_job(f, 3, 600);
        submit_job(f, 4, 600); /* waits */
        submit_set(f);         /* ends before */
        assert_int_equal(get_counters(f).jobs_started, 5);
        assert_int_equal(get_counters(f).bf_backfilled_het_jobs, 2);
        submit_job(f, 1, 60); /* an ordinary job */
        assert_int_equal(get_counters(f).bf_backfilled_jobs, 3);
        assert_int_equal(get_counters(f).bf_backfilled_het_jobs, 2);
        control_diag_reset(f->control);
        assert_int_equal(get_counters(f).bf_backfilled_het_jobs, 2); /* since the start */
        fixture_free(f);
    }
}

static void midnight_resets_the_counters(void **state)
{
    struct fixture *f = make_fixture();
    submit_job(f, 1, 600);
    submit_job(f, 2, 600);
    submit_job(f, 1, 60);
    Pb__DiagCounters before = get_counters(f);
    fixture_pass(f, DAY_MS - f->wall_ms % DAY_MS);
    fixture_turn(f);
    Pb__DiagCounters after = get_counters(f);
    assert_int_equal(after.jobs_submitted, 0);
    assert_int_equal(after.bf_last_backfilled_jobs, 0);
    assert_int_equal(after.bf_backfilled_jobs, before.bf_backfilled_jobs);
    assert_true(after.since_sec > before.since_sec);
    submit_job(f, 1, 60);
    assert_int_equal(get_counters(f).jobs_submitted, 1);
    control_diag_reset(f->control);
    assert_int_equal(get_counters(f).jobs_submitted, 0);
    fixture_free(f);
}

static void run_times_are_0_without_a_clock(void **state)
{
    struct fixture *f = make_fixture();
    f->env.work_usec = NULL;
    control_diag_reset(f->control);
    submit_job(f, 1, 600);
    Pb__DiagCounters n = get_counters(f);
    assert_true(n.schedule_cycle_total >= 1);
    assert_int_equal(n.schedule_cycle_sum, 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_and_passes_are_counted),
        cmocka_unit_test(backfilled_components_are_counted),
        cmocka_unit_test(midnight_resets_the_counters),
        cmocka_unit_test(run_times_are_0_without_a_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
