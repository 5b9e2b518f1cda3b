/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps that are created but never launched. */
#include <string.h>

#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nNodeName=n[1-2] CPUs=2\n"                      \
    "PartitionName=a Nodes=ALL Default=YES\n"
#define OLD_MS 131000 /* no credential of that age starts anything */

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 2);
}

/* An srun on both nodes has job 1 and step 1.0. */
static void grant_step(struct fixture *f)
{
    struct caller user = FIXTURE_USER;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    spec.has_min_nodes = spec.has_max_nodes = true;
    spec.min_nodes = spec.max_nodes = 2;
    spec.has_num_tasks = step.has_num_tasks = true;
    spec.num_tasks = step.num_tasks = 2;
    r.spec = &spec;
    r.step = &step;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_clear(f);
}

static size_t count_look_orders(const struct fixture *f, const char *node)
{
    size_t count = 0;
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++) {
            const Pb__StepLook *m = (*o)->orders->orders[i]->look;
            count += strcmp((*o)->node, node) == 0 && m && m->job_id == 1 && m->step_id == 0;
        }
    return count;
}

static void register_node(struct fixture *f, const char *node, bool has_step)
{
    fixture_register_job(f, node, 1, has_step);
    fixture_turn(f);
}

static void nodes_of_an_unlaunched_step_are_asked_once(void **state)
{
    struct fixture *f = make_fixture();
    grant_step(f);
    fixture_pass(f, 120000); /* it may still begin */
    assert_int_equal(count_look_orders(f, "n1"), 0);
    fixture_pass(f, OLD_MS - 120000);
    assert_int_equal(count_look_orders(f, "n1"), 1);
    assert_int_equal(count_look_orders(f, "n2"), 1);
    fixture_pass(f, 10 * OLD_MS);
    assert_int_equal(count_look_orders(f, "n1"), 1);
    fixture_step_ended(f, "n1", 1, 0, 15);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING); /* until n2 reports */
    fixture_step_ended(f, "n2", 1, 0, 15);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__FAILED);
    fixture_free(f);
}

static void ended_step_is_not_asked_for(void **state)
{
    struct fixture *f = make_fixture();
    grant_step(f);
    fixture_step_ended(f, "n1", 1, 0, 0);
    fixture_pass(f, OLD_MS);
    assert_int_equal(count_look_orders(f, "n1"), 0);
    assert_int_equal(count_look_orders(f, "n2"), 1);
    fixture_free(f);
}

static void returning_node_is_asked_for_the_step(void **state)
{
    struct fixture *f = make_fixture();
    grant_step(f);
    register_node(f, "n2", false);
    assert_int_equal(count_look_orders(f, "n2"), 0); /* its launch may be in progress */
    control_node_lost(f->control, "n2");
    fixture_pass(f, OLD_MS);
    fixture_clear(f);
    register_node(f, "n2", true);
    assert_int_equal(count_look_orders(f, "n2"), 0);
    register_node(f, "n2", false);
    assert_int_equal(count_look_orders(f, "n2"), 1);
    fixture_free(f);
}

static void restarted_controller_grants_the_full_launch_time(void **state)
{
    struct fixture *f = make_fixture();
    grant_step(f);
    fixture_pass(f, 100000);
    fixture_restart(f);
    register_node(f, "n1", false);
    register_node(f, "n2", false);
    fixture_pass(f, 100000);
    assert_int_equal(count_look_orders(f, "n1"), 0);
    fixture_pass(f, OLD_MS - 100000);
    assert_int_equal(count_look_orders(f, "n1"), 1);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_an_unlaunched_step_are_asked_once),
        cmocka_unit_test(ended_step_is_not_asked_for),
        cmocka_unit_test(returning_node_is_asked_for_the_step),
        cmocka_unit_test(restarted_controller_grants_the_full_launch_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
