/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>

#include "control/fixture.h"

static const char lines[] =
    "KillWait=5\nUnkillableStepTimeout=20\nSelectType=select/cons_tres\n"
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"
    "PartitionName=p Nodes=ALL Default=YES MaxTime=UNLIMITED\n";

static struct fixture *make(void)
{
    struct fixture *f = fixture_new(lines);
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "b");
    fixture_turn(f);
    return f;
}

static uint32_t run(struct fixture *f, bool requeue, const char *warning)
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

static size_t signals(const struct fixture *f, uint32_t job)
{
    size_t count = 0;
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++)
            count +=
                (*o)->orders->orders[i]->signal && (*o)->orders->orders[i]->signal->job_id == job;
    return count;
}

static void nothing_runs(void **state)
{
    struct fixture *f = make();
    (void)state;
    assert_false(control_may_shut_down(f->control));
    control_announce(f->control, 3600);
    fixture_turn(f);
    assert_true(control_may_shut_down(f->control));
    assert_int_equal(fixture_state(f, run(f, true, NULL)), PB__JOB_STATE__PENDING);
    control_announce(f->control, -1);
    fixture_turn(f);
    assert_false(control_may_shut_down(f->control));
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void jobs_have_until_then(void **state)
{
    struct fixture *f = make();
    uint32_t again = run(f, true, "USR1@60"), over = run(f, false, NULL);
    (void)state;
    fixture_launched(f, "n1", again, 0);
    fixture_launched(f, "n1", over, 0);
    fixture_turn(f);
    fixture_clear(f);
    control_announce(f->control, 100);
    fixture_turn(f);
    fixture_pass(f, 39000);
    assert_int_equal(signals(f, again), 0);
    fixture_pass(f, 2000);
    assert_int_equal(signals(f, again), 1);
    assert_int_equal(signals(f, over), 0);
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

    fixture_restart(f); /* it is forgotten with its process: there is no second shutdown */
    assert_false(control_is_announced(f->control));
    fixture_register(f, "n1", "a");
    fixture_turn(f);
    assert_int_equal(fixture_state(f, again), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, over), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

static void grace_is_told_to_the_node(void **state)
{
    struct fixture *f = make();
    uint32_t id = run(f, false, NULL);
    size_t found = 0;
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
    fixture_free(f);
}

/* A node that never answers does not keep the rest for ever. */
static void not_for_ever(void **state)
{
    struct fixture *f = make();
    run(f, true, NULL);
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

static void called_off_in_time(void **state)
{
    struct fixture *f = make();
    uint32_t id = run(f, true, "USR1@60");
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
    assert_int_equal(signals(f, id), 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_runs),
        cmocka_unit_test(jobs_have_until_then),
        cmocka_unit_test(grace_is_told_to_the_node),
        cmocka_unit_test(not_for_ever),
        cmocka_unit_test(called_off_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
