/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --deadline: a job is cancelled in time, not early, and gets no more time than is left. */
#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n1 CPUs=1 RealMemory=4000\n"                    \
    "PartitionName=a Nodes=ALL Default=YES\n"

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 1);
}

static int64_t submit(struct fixture *f, int64_t deadline_sec, int64_t limit_sec, int64_t min_sec)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_deadline_at_sec = deadline_sec != 0;
    s.deadline_at_sec = f->wall_ms / 1000 + deadline_sec;
    s.has_time_limit_sec = limit_sec > 0;
    s.time_limit_sec = limit_sec;
    s.has_time_min_sec = min_sec > 0;
    s.time_min_sec = min_sec;
    return fixture_submit(f, &user, &s);
}

static void refused(void **state)
{
    struct fixture *f = make_fixture();

    (void)state;
    assert_int_equal(submit(f, 60, 61, 0), -ERR_DEADLINE);
    assert_int_equal(submit(f, 60, 120, 61), -ERR_DEADLINE);
    assert_int_equal(submit(f, -1, 0, 0), -ERR_DEADLINE);
    assert_true(submit(f, 60, 60, 0) > 0);
    assert_true(submit(f, 60, 120, 60) > 0);
    fixture_free(f);
}

/* A long job occupies the only node. */
static void given_up(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    assert_int_equal(submit(f, 0, 7200, 0), 1);
    assert_int_equal(submit(f, 1000, 300, 0), 2);
    assert_int_equal(submit(f, 1000, 300, 100), 3);
    assert_int_equal(submit(f, 1000, 0, 0), 4); /* any run time is useful */
    fixture_pass(f, 699 * 1000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__PENDING);
    fixture_pass(f, 3000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__DEADLINE);
    assert_string_equal(fixture_job(f, &arena, 2)->live->reason, "DeadLine");
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__PENDING);
    fixture_restart(f);
    fixture_pass(f, 200 * 1000);
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__DEADLINE);
    assert_int_equal(fixture_state(f, 4), PB__JOB_STATE__PENDING);
    fixture_pass(f, 120 * 1000);
    assert_int_equal(fixture_state(f, 4), PB__JOB_STATE__DEADLINE);
    fixture_free(f);
}

static void cut_short(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    assert_int_equal(submit(f, 100, 300, 50), 1);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_job(f, &arena, 1)->live->time_limit_sec, 100);
    fixture_launched(f, "n1", 1, 0);
    fixture_pass(f, 99 * 1000);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 3000);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

/* Its time begins when PrologSlurmctld has ended: less than before, or none. */
static void a_prolog_takes_its_time(void **state)
{
    _cleanup_arena_ struct arena arena;
    struct fixture *f = fixture_new(CONF "PrologSlurmctld=/p\n");

    (void)state;
    arena_init(&arena, 0);
    fixture_register(f, "n1", "i1");
    assert_int_equal(submit(f, 100, 100, 0), 1);
    fixture_pass(f, 40 * 1000);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, 1, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_job(f, &arena, 1)->live->time_limit_sec, 60);
    fixture_batch_ended(f, "n1", 1, 0, 0);
    fixture_gone(f, "n1", 1, 0);
    assert_int_equal(submit(f, 20, 10, 0), 2);
    fixture_pass(f, 20 * 1000);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, 2, 0);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__DEADLINE);
    assert_string_equal(fixture_job(f, &arena, 2)->live->reason, "DeadLine");
    assert_int_equal(submit(f, 0, 10, 0), 3);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, 3, 0);
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* It would be cancelled again at once, so the request is not reported as successful. */
static void not_queued_again(void **state)
{
    struct fixture *f = make_fixture();
    Pb__JobUpdate again = PB__JOB_UPDATE__INIT;
    struct caller user = FIXTURE_USER;

    (void)state;
    assert_int_equal(submit(f, 0, 7200, 0), 1);
    assert_int_equal(submit(f, 60, 60, 0), 2);
    fixture_pass(f, 3000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__DEADLINE);
    again.job_id = 2;
    again.has_requeue = again.requeue = again.has_hold = again.hold = true;
    assert_int_equal(fixture_update_job(f, &user, &again), ERR_DEADLINE);
    fixture_restart(f);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__DEADLINE);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),          cmocka_unit_test(given_up),
        cmocka_unit_test(cut_short),        cmocka_unit_test(a_prolog_takes_its_time),
        cmocka_unit_test(not_queued_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
