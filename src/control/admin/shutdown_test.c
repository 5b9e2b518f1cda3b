/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>
#include <string.h>

#include "base/pb.h"
#include "control/fixture.h"

static const char lines[] =
    "KillWait=5\nUnkillableStepTimeout=20\nSelectType=select/cons_tres\n"
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"
    "PartitionName=p Nodes=ALL Default=YES MaxTime=UNLIMITED\n";

static struct fixture *make_fixture(void)
{
    struct fixture *f = fixture_new(lines);
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "b");
    fixture_turn(f);
    return f;
}

static uint32_t run_job(struct fixture *f, bool requeue, const char *warning)
{
    struct caller who = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_requeue = true;
    s.requeue = requeue;
    s.signal = (char *)warning;
    int64_t id = fixture_submit(f, &who, &s);
    assert_true(id > 0);
    fixture_turn(f);
    return (uint32_t)id;
}

static size_t count_signals(const struct fixture *f, uint32_t job)
{
    size_t count = 0;
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++)
            count +=
                (*o)->orders->orders[i]->signal && (*o)->orders->orders[i]->signal->job_id == job;
    return count;
}

static void shutdown_without_jobs_is_immediate(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    assert_false(control_may_shut_down(f->control));
    control_announce(f->control, 3600);
    fixture_turn(f);
    assert_true(control_may_shut_down(f->control));
    assert_int_equal(fixture_state(f, run_job(f, true, NULL)), PB__JOB_STATE__PENDING);
    control_announce(f->control, -1);
    fixture_turn(f);
    assert_false(control_may_shut_down(f->control));
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void jobs_run_until_the_announced_time(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t again = run_job(f, true, "USR1@60"), over = run_job(f, false, NULL);
    (void)state;
    fixture_launched(f, "n1", again, 0);
    fixture_launched(f, "n1", over, 0);
    fixture_turn(f);
    fixture_clear(f);
    control_announce(f->control, 100);
    fixture_turn(f);
    fixture_pass(f, 39000);
    assert_int_equal(count_signals(f, again), 0);
    fixture_pass(f, 2000);
    assert_int_equal(count_signals(f, again), 1);
    assert_int_equal(count_signals(f, over), 0);
    fixture_pass(f, 58000);
    assert_int_equal(fixture_terminates(f, "n1", over), 0);
    assert_false(control_may_shut_down(f->control));
    fixture_pass(f, 1500);
    assert_int_equal(fixture_terminates(f, "n1", again), 1);
    assert_int_equal(fixture_terminates(f, "n1", over), 1);
    assert_int_equal(fixture_state(f, over), PB__JOB_STATE__CANCELLED);
    fixture_gone(f, "n1", over, 0);
    assert_false(control_may_shut_down(f->control));
    fixture_gone(f, "n1", again, 0);
    fixture_turn(f);
    assert_true(control_may_shut_down(f->control));
    assert_int_equal(fixture_state(f, again), PB__JOB_STATE__PENDING);

    control_stop(f->control, true); /* complete: there is no second one */
    fixture_pass(f, 1000);
    assert_int_equal(fixture_state(f, again), PB__JOB_STATE__PENDING); /* until the end */
    fixture_restart(f);
    assert_false(control_is_announced(f->control));
    fixture_register(f, "n1", "a");
    fixture_turn(f);
    assert_int_equal(fixture_state(f, again), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, over), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

static void node_is_told_the_grace_time(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t id = run_job(f, false, NULL);
    size_t found = 0;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    fixture_clear(f);
    control_announce(f->control, 0);
    fixture_turn(f);
    fixture_pass(f, 1000);
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++) {
            const Pb__Terminate *t = (*o)->orders->orders[i]->terminate;
            if (!t)
                continue;
            found++;
            assert_int_equal(t->job_id, id);
            assert_int_equal(t->grace_sec, 5);
            assert_string_equal(t->why, "SYSTEM SHUTDOWN");
        }
    assert_int_equal(found, 1);
    assert_string_equal(fixture_job(f, &arena, id)->live->reason, "SystemShutdown");
    fixture_free(f);
}

/* A node that never answers does not delay the shutdown forever. */
static void unresponsive_node_does_not_delay_the_shutdown(void **state)
{
    struct fixture *f = make_fixture();
    run_job(f, true, NULL);
    (void)state;
    control_announce(f->control, 10);
    fixture_turn(f);
    fixture_pass(f, 11000);
    assert_false(control_may_shut_down(f->control));
    fixture_pass(f, 30000);
    assert_false(control_may_shut_down(f->control));
    fixture_pass(f, 6000);
    assert_true(control_may_shut_down(f->control));
    fixture_free(f);
}

static void cancelled_shutdown_lets_jobs_run(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t id = run_job(f, true, "USR1@60");
    (void)state;
    fixture_launched(f, "n1", id, 0);
    fixture_turn(f);
    control_announce(f->control, 100);
    fixture_turn(f);
    fixture_pass(f, 10000);
    control_announce(f->control, -1);
    fixture_turn(f);
    fixture_clear(f);
    fixture_pass(f, 200000);
    assert_int_equal(count_signals(f, id), 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* --- across a restart ---------------------------------------------------------------------------
 */

/* The job is still on the first node. */
static void register_with(struct fixture *f, uint32_t job)
{
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    Pb__Presence here = PB__PRESENCE__INIT, *present[] = {&here};
    here.job_id = job;
    r.name = (char *)"n1";
    r.version = (char *)"test";
    r.incarnation = (char *)"a";
    r.present = present;
    r.n_present = 1;
    control_node_register(f->control, "n1", &r);
}

static void restart_with_job(struct fixture *f, uint32_t job)
{
    fixture_restart(f);
    register_with(f, job);
    fixture_register(f, "n2", "b");
    fixture_turn(f);
}

static void reboot_controller(struct fixture *f)
{
    f->boot++;
    f->mono_ms = 5000;
    fixture_restart(f);
}

static uint32_t announce_shutdown(struct fixture *f, int64_t in_sec, const char *warning)
{
    uint32_t id = run_job(f, true, warning);
    fixture_launched(f, "n1", id, 0);
    fixture_turn(f);
    control_announce(f->control, in_sec);
    fixture_turn(f);
    return id;
}

static struct str *find_stored_record(struct fixture *f)
{
    vec_foreach (&f->records, r)
        if (r->kind == RECORD_SHUTDOWN)
            return &r->data;
    return NULL;
}

static void announcement_survives_a_controller_restart(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t id = announce_shutdown(f, 100, "USR1@60");
    (void)state;
    fixture_pass(f, 41000);
    assert_int_equal(count_signals(f, id), 1);
    f->wall_ms += 86400000; /* the clock is set */
    restart_with_job(f, id);
    assert_true(control_is_announced(f->control));
    assert_int_equal(fixture_state(f, run_job(f, true, NULL)), PB__JOB_STATE__PENDING);
    fixture_pass(f, 58000);
    assert_int_equal(count_signals(f, id), 0); /* it was warned */
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    control_stop(f->control, false); /* of the controller only */
    fixture_turn(f);
    restart_with_job(f, id);
    fixture_clear(f);
    fixture_pass(f, 1500);
    assert_int_equal(fixture_terminates(f, "n1", id), 1);
    assert_false(control_may_shut_down(f->control));
    fixture_gone(f, "n1", id, 0);
    fixture_turn(f);
    assert_true(control_may_shut_down(f->control));
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

static void announcement_follows_the_wall_clock_after_a_boot(void **state)
{
    struct fixture *f = make_fixture();
    f->boot = 1;
    uint32_t id = announce_shutdown(f, 100, NULL);
    (void)state;
    fixture_pass(f, 10000);
    f->wall_ms += 30000;
    reboot_controller(f);
    fixture_pass(f, 58000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    f->wall_ms += 3600000; /* from now on this boot's clock counts */
    fixture_restart(f);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 3000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

static void passed_shutdown_is_not_repeated_after_a_restart(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t id = announce_shutdown(f, 10, NULL);
    (void)state;
    fixture_pass(f, 11000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    fixture_pass(f, 20000);
    restart_with_job(f, id);
    fixture_pass(f, 10000);
    assert_false(control_may_shut_down(f->control)); /* at most 35 s after its time */
    fixture_pass(f, 6000);
    assert_true(control_may_shut_down(f->control));
    fixture_free(f);
}

/* A time before the boot of the machine survives storing and restoring. */
static void shutdown_time_before_the_boot_survives_a_restart(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t id = announce_shutdown(f, 10, NULL);
    (void)state;
    fixture_pass(f, 11000);
    f->wall_ms += 3600000;
    reboot_controller(f);
    fixture_restart(f);
    assert_true(control_is_announced(f->control));
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

static void jobs_get_their_grace_time_if_the_controller_was_down(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t id = announce_shutdown(f, 10, NULL);
    (void)state;
    f->wall_ms += 600000;
    f->mono_ms += 600000;
    restart_with_job(f, id);
    fixture_pass(f, 1000);
    assert_int_equal(fixture_terminates(f, "n1", id), 1);
    fixture_pass(f, 30000);
    assert_false(control_may_shut_down(f->control));
    fixture_pass(f, 5000);
    assert_true(control_may_shut_down(f->control));
    fixture_free(f);
}

static void shutdown_waits_for_returning_nodes(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    fixture_pass(f, 20000);
    control_announce(f->control, 10);
    fixture_turn(f);
    fixture_restart(f);
    fixture_register(f, "n1", "a");
    fixture_turn(f);
    assert_false(control_may_shut_down(f->control));
    fixture_restart(f);
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "b");
    fixture_turn(f);
    assert_true(control_may_shut_down(f->control));
    fixture_restart(f);
    fixture_register(f, "n1", "a");
    fixture_pass(f, 9000);
    assert_false(control_may_shut_down(f->control));
    assert_true(f->wake_ms - f->mono_ms <= 1000);
    fixture_pass(f, 1500);
    assert_true(control_may_shut_down(f->control));
    fixture_free(f);
}

static void cancelled_shutdown_stays_cancelled(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t id = announce_shutdown(f, 100, NULL);
    (void)state;
    restart_with_job(f, id);
    control_announce(f->control, -1);
    fixture_turn(f);
    assert_null(find_stored_record(f));
    restart_with_job(f, id);
    assert_false(control_is_announced(f->control));
    fixture_pass(f, 200000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, run_job(f, true, NULL)), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void invalid_shutdown_record_is_refused(void **state)
{
    static const struct {
        int64_t at_sec, at_mono_ms;
        const char *more;
        int code;
    } cases[] = {
        {0, 0, "", -ERR_STORE_DAMAGED},         {1, 0, "\xff", -ERR_STORE_DAMAGED},
        {INT64_MAX, 0, "", -ERR_STORE_DAMAGED}, {-1, 0, "", -ERR_STORE_DAMAGED},
        {1, INT64_MAX, "", -ERR_STORE_DAMAGED}, {1, -1, "", -ERR_STORE_DAMAGED},
        {1, 1, "\xc0\x3e\x2a", -ERR_VERSION},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = make_fixture();
        struct str packed = STR_INIT;
        struct err err = {0};
        Pb__Announced m = PB__ANNOUNCED__INIT;
        m.has_at_sec = m.has_at_mono_ms = true;
        m.at_sec = cases[i].at_sec;
        m.at_mono_ms = cases[i].at_mono_ms;
        pb_pack(&m.base, &packed);
        str_puts(&packed, cases[i].more);
        assert_int_equal(
            control_restore(f->control, RECORD_SHUTDOWN, 0, NULL, packed.data, packed.len, &err),
            cases[i].code);
        assert_non_null(strstr(err.text, "the announced shutdown"));
        assert_false(control_is_announced(f->control));
        str_done(&packed);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shutdown_without_jobs_is_immediate),
        cmocka_unit_test(jobs_run_until_the_announced_time),
        cmocka_unit_test(node_is_told_the_grace_time),
        cmocka_unit_test(unresponsive_node_does_not_delay_the_shutdown),
        cmocka_unit_test(cancelled_shutdown_lets_jobs_run),
        cmocka_unit_test(invalid_shutdown_record_is_refused),
        cmocka_unit_test(announcement_survives_a_controller_restart),
        cmocka_unit_test(announcement_follows_the_wall_clock_after_a_boot),
        cmocka_unit_test(passed_shutdown_is_not_repeated_after_a_restart),
        cmocka_unit_test(shutdown_time_before_the_boot_survives_a_restart),
        cmocka_unit_test(jobs_get_their_grace_time_if_the_controller_was_down),
        cmocka_unit_test(shutdown_waits_for_returning_nodes),
        cmocka_unit_test(cancelled_shutdown_stays_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
