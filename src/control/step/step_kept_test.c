/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a running step survives a restart and a reconfiguration: that it must end, its
 * status so far, and where it has ended. */
#include <signal.h>
#include <string.h>

#include "base/step_id.h"
#include "control/fixture.h"
#include "control/life/cancel.h"

#define CONF_OF(nodes)                                                                             \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nNodeName=" nodes " CPUs=2\n"                   \
    "PartitionName=a Nodes=ALL Default=YES\n"
#define CONF CONF_OF("n[1-3]")
#define WITHOUT_N2 CONF_OF("n[1,3]")
#define OLD_MS 131000 /* no credential of that age starts anything */

enum break_kind { RESTART, RECONFIGURE, BREAKS };

static void break_connection(struct fixture *f, unsigned how)
{
    if (how == RESTART)
        fixture_restart(f);
    else
        fixture_reconfigure(f, CONF "MinJobAge=100\n");
    for (const char *n = "123"; *n; n++)
        fixture_register_job(f, (char[]){'n', *n, 0}, 1, true);
    fixture_turn(f);
}

/* An srun has job 1 on this number of nodes, with step 1.0 on some of them. */
static struct fixture *make_fixture(unsigned nodes, unsigned step_nodes, bool no_kill)
{
    struct fixture *f = fixture_new_up(CONF, 3);
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    spec.has_min_nodes = spec.has_max_nodes = spec.has_num_tasks = spec.has_no_kill = true;
    spec.min_nodes = spec.max_nodes = spec.num_tasks = nodes;
    spec.no_kill = no_kill;
    step.has_num_tasks = step.has_min_nodes = true;
    step.num_tasks = step.min_nodes = step_nodes;
    r.spec = &spec;
    r.step = &step;
    control_alloc(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_clear(f);
    return f;
}

static int scancel_step(struct fixture *f, uint32_t step_id)
{
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets = &target;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    target.job_id = 1;
    target.has_step_id = true;
    target.step_id = step_id;
    r.target = &targets;
    r.n_target = 1;
    control_job_signal(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    const struct fixture_reply *reply = &vec_last(&f->replies);
    const Pb__JobSignalReply *m =
        arena_unpack(&arena, &pb__job_signal_reply__descriptor, reply->data.data, reply->data.len);
    return m->results[0]->code;
}

/* Returns how often the node got the order to end the step since the last call. */
static size_t count_end_orders(struct fixture *f, const char *node, uint32_t step_id)
{
    size_t count = 0;
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++) {
            const Pb__Terminate *m = (*o)->orders->orders[i]->terminate;
            count += strcmp((*o)->node, node) == 0 && m && m->job_id == 1 && m->has_step_id &&
                     m->step_id == step_id;
        }
    return count;
}

static void end_orders_are_repeated_after_a_break(void **state)
{
    for (unsigned how = 0; how < BREAKS; how++) {
        struct fixture *f = make_fixture(2, 2, false);
        fixture_step_ended(f, "n2", 1, 0, 0);
        assert_int_equal(scancel_step(f, 0), 0);
        assert_int_equal(count_end_orders(f, "n1", 0), 1);
        break_connection(f, how);
        fixture_clear(f);
        fixture_pass(f, 1000);
        assert_int_equal(count_end_orders(f, "n1", 0), 1);
        assert_int_equal(count_end_orders(f, "n2", 0),
                         0); /* it has reported that nothing is left */
        fixture_step_ended(f, "n1", 1, 0, SIGTERM);
        fixture_clear(f);
        fixture_pass(f, 5000);
        assert_int_equal(count_end_orders(f, "n1", 0), 0);
        fixture_free(f);
    }
}

static void a_node_that_has_reported_is_not_waited_for(void **state)
{
    for (unsigned how = 0; how < BREAKS; how++) {
        struct fixture *f = make_fixture(2, 2, false);
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        fixture_step_ended(f, "n1", 1, 0, 3 << 8);
        break_connection(f, how);
        assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
        fixture_step_ended(f, "n2", 1, 0, 0);
        assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__FAILED);
        assert_int_equal(fixture_job(f, &arena, 1)->live->exit_status, 3 << 8);
        fixture_free(f);
    }
}

/* A state is written once, and not again for each repeated report. */
static void repeated_report_writes_nothing(void **state)
{
    struct fixture *f = make_fixture(2, 2, false);
    fixture_step_ended(f, "n1", 1, 0, 0);
    assert_int_equal(scancel_step(f, 0), 0);
    size_t puts = f->puts;
    fixture_step_ended(f, "n1", 1, 0, 0);
    assert_int_equal(scancel_step(f, 0), 0);
    fixture_pass(f, 5000);
    assert_int_equal(f->puts, puts);
    fixture_free(f);
}

/* The last remaining node is lost: no further report will come. */
static void step_ends_when_its_last_awaited_node_is_lost(void **state)
{
    struct fixture *f = make_fixture(3, 3, true);
    fixture_step_ended(f, "n1", 1, 0, 0);
    fixture_step_ended(f, "n3", 1, 0, 0);
    fixture_reconfigure(f, WITHOUT_N2);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__FAILED);
    fixture_free(f);
}

static void lost_node_of_the_job_outside_the_step_changes_nothing(void **state)
{
    struct fixture *f = make_fixture(3, 1, true);
    assert_int_equal(fixture_update_node(f, "n3", "down", "gone"), 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_step_ended(f, "n1", 1, 0, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

/* The node reported the end before it failed. */
static void lost_node_where_the_step_has_ended_changes_nothing(void **state)
{
    struct fixture *f = make_fixture(3, 3, true);
    fixture_step_ended(f, "n3", 1, 0, 0);
    assert_int_equal(fixture_update_node(f, "n3", "down", "gone"), 0);
    fixture_step_ended(f, "n1", 1, 0, 0);
    fixture_step_ended(f, "n2", 1, 0, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

static void unlaunched_step_is_asked_for(void **state)
{
    struct fixture *f = make_fixture(2, 2, false);
    fixture_pass(f, OLD_MS - 5000);
    fixture_reconfigure(f, CONF "MinJobAge=100\n");
    fixture_clear(f);
    fixture_pass(f, 5000);
    size_t looks = 0;
    vec_foreach (&f->orders, o)
        looks += (*o)->orders->orders[0]->look != NULL;
    assert_int_equal(looks, 2);
    fixture_reconfigure(f, CONF);
    fixture_clear(f);
    fixture_pass(f, 2 * OLD_MS);
    assert_int_equal(f->orders.len, 0); /* they were asked */
    fixture_free(f);
}

/* A batch job on two nodes; the launch of its script is not confirmed. */
static struct fixture *make_batch(void)
{
    struct fixture *f = fixture_new_up(CONF, 3);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.has_min_nodes = spec.has_max_nodes = true;
    spec.min_nodes = spec.max_nodes = 2;
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &spec), 1);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    return f;
}

static void confirmed_launch_keeps_other_orders(void **state)
{
    struct fixture *f = make_batch();
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.has_job_id = true;
    step.job_id = 1;
    control_step_create(f->control, ++f->last_call, &FIXTURE_USER, &step);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    assert_int_equal(scancel_step(f, 0), 0);
    fixture_launched(f, "n1", 1, 0);
    fixture_clear(f);
    fixture_pass(f, 1000);
    assert_int_equal(count_end_orders(f, "n1", 0), 1);
    assert_int_equal(count_end_orders(f, "n2", 0), 1);
    assert_int_equal(fixture_launches(f, "n1", 1), 0);
    fixture_free(f);
}

static void confirmed_launch_keeps_a_suspend_order(void **state)
{
    struct fixture *f = make_batch();
    Pb__JobSuspend r = PB__JOB_SUSPEND__INIT;
    r.job_id = 1;
    control_job_suspend(f->control, ++f->last_call, &FIXTURE_ROOT, &r);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__SUSPENDED);
    fixture_launched(f, "n1", 1, 0);
    fixture_clear(f);
    fixture_pass(f, 5000);
    size_t halts = 0;
    vec_foreach (&f->orders, o)
        halts += (*o)->orders->orders[0]->halt != NULL;
    assert_int_equal(halts, 1); /* nothing of it can be on n2 */
    fixture_free(f);
}

static void end_order_for_a_script_waits_for_its_node(void **state)
{
    for (unsigned how = 0; how < BREAKS; how++) {
        struct fixture *f = make_batch();
        fixture_launched(f, "n1", 1, 0);
        control_node_lost(f->control, "n1");
        assert_int_equal(scancel_step(f, STEP_ID_BATCH), 0);
        break_connection(f, how);
        fixture_clear(f);
        fixture_pass(f, 1000);
        assert_int_equal(count_end_orders(f, "n1", STEP_ID_BATCH), 1);
        assert_int_equal(count_end_orders(f, "n2", STEP_ID_BATCH), 0);
        size_t puts = f->puts;
        assert_int_equal(scancel_step(f, STEP_ID_BATCH), 0);
        assert_int_equal(f->puts, puts);
        fixture_batch_ended(f, "n1", 1, 0, SIGTERM);
        assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__FAILED);
        fixture_clear(f);
        fixture_pass(f, 5000);
        assert_int_equal(count_end_orders(f, "n1", STEP_ID_BATCH), 0);
        fixture_free(f);
    }
}

/* The order to end applies to one attempt, not to the next. */
static void end_order_for_a_script_applies_to_one_attempt(void **state)
{
    struct fixture *f = make_batch();
    fixture_launched(f, "n1", 1, 0);
    assert_int_equal(scancel_step(f, STEP_ID_BATCH), 0);
    assert_int_equal(fixture_update_node(f, "n2", "down", "gone"), 0); /* requeued */
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__NODE_FAIL);
    fixture_gone(f, "n1", 1, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_launched(f, "n1", 1, 1);
    fixture_clear(f);
    fixture_pass(f, 5000);
    assert_int_equal(count_end_orders(f, "n1", STEP_ID_BATCH), 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_orders_are_repeated_after_a_break),
        cmocka_unit_test(a_node_that_has_reported_is_not_waited_for),
        cmocka_unit_test(repeated_report_writes_nothing),
        cmocka_unit_test(step_ends_when_its_last_awaited_node_is_lost),
        cmocka_unit_test(lost_node_of_the_job_outside_the_step_changes_nothing),
        cmocka_unit_test(lost_node_where_the_step_has_ended_changes_nothing),
        cmocka_unit_test(unlaunched_step_is_asked_for),
        cmocka_unit_test(confirmed_launch_keeps_other_orders),
        cmocka_unit_test(confirmed_launch_keeps_a_suspend_order),
        cmocka_unit_test(end_order_for_a_script_waits_for_its_node),
        cmocka_unit_test(end_order_for_a_script_applies_to_one_attempt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
