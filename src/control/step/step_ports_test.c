/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Communication ports of steps, and requests that wait for them. */
#include <string.h>

#include "cluster/job/step_nodes.h"
#include "control/fixture.h"
#include "control/internal.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nMpiParams=ports=12000-12003\n"                 \
    "NodeName=n[1-2] CPUs=8\nPartitionName=a Nodes=ALL Default=YES\n"

static void port_list_is_formatted_as_ranges(void **state)
{
    static const uint32_t ports[] = {12000, 12001, 12003, 12005, 12006, 12007};
    struct str text = STR_INIT;
    step_ports_format(ports, 6, &text);
    assert_string_equal(str_cstr(&text), "12000-12001,12003,12005-12007");
    str_clear(&text);
    step_ports_format(ports, 0, &text);
    assert_string_equal(str_cstr(&text), "");
    str_done(&text);
}

/* Requests a job with a step on n1; returns the call. */
static uint64_t request_job_with_step(struct fixture *f, uint32_t ports, uint32_t tasks)
{
    struct caller user = FIXTURE_USER;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    spec.has_num_tasks = step.has_num_tasks = true;
    spec.num_tasks = step.num_tasks = tasks;
    spec.req_nodes = (char *)"n1";
    step.has_resv_ports = true;
    step.resv_ports = ports;
    r.spec = &spec;
    r.step = &step;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    return f->last_call;
}

static uint64_t ask_again(struct fixture *f, uint32_t job, uint32_t ports)
{
    struct caller user = FIXTURE_USER;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.has_job_id = step.has_num_tasks = step.has_resv_ports = true;
    step.job_id = job;
    step.num_tasks = 1;
    step.resv_ports = ports;
    control_step_create(f->control, ++f->last_call, &user, &step);
    fixture_turn(f);
    return f->last_call;
}

static void assert_first_port(struct fixture *f, uint32_t job, uint32_t ports, uint32_t first)
{
    struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobRecord *r = fixture_job(f, &arena, job);
    assert_int_equal(r->n_steps, ports ? 1 : 0);
    if (ports) {
        assert_int_equal(r->steps[0]->n_resv_ports, ports);
        assert_int_equal(r->steps[0]->resv_ports[0], first);
    }
    arena_done(&arena);
}

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 2);
}

static void cancel_job(struct fixture *f, uint32_t job)
{
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, job, NULL, 0), 0);
}

/* The srun does not call again. */
static void job_without_a_requested_step_ends(void **state)
{
    struct fixture *f = make_fixture();
    request_job_with_step(f, 4, 1);
    request_job_with_step(f, 1, 1);
    assert_first_port(f, 1, 4, 12000);
    assert_first_port(f, 2, 0, 0);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 20000);
    uint64_t call = ask_again(f, 2, 1);
    fixture_pass(f, 60000); /* its srun calls */
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__RUNNING);
    control_call_gone(f->control, call);
    fixture_turn(f);
    fixture_pass(f, 20000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 20000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

static uint64_t ask_without(struct fixture *f, uint32_t job)
{
    struct caller user = FIXTURE_USER;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.has_job_id = step.has_num_tasks = step.has_overcommit = step.overcommit = true;
    step.job_id = job;
    step.num_tasks = 1;
    control_step_create(f->control, ++f->last_call, &user, &step);
    fixture_turn(f);
    return f->last_call;
}

static void complete_step(struct fixture *f, uint32_t job, uint32_t step)
{
    struct caller user = FIXTURE_USER;
    Pb__StepComplete r = PB__STEP_COMPLETE__INIT;
    r.job_id = job;
    r.step_id = step;
    control_step_complete(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
}

/* The request is also retried at each end of a step of its job: the list does not grow. */
static void waiting_step_is_listed_once(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    request_job_with_step(f, 4, 1);
    spec.req_nodes = (char *)"n1";
    r.spec = &spec;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    ask_again(f, 2, 1);
    for (uint32_t step = 0; step < 5; step++) {
        ask_without(f, 2);
        complete_step(f, 2, step);
    }
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__RUNNING);
    assert_int_equal(f->control->ports_awaited.len, 1);
    fixture_free(f);
}

/* Processes may use the ports until the node is clean; a restart keeps this state. */
static void ports_are_released_with_the_node(void **state)
{
    struct fixture *f = make_fixture();
    request_job_with_step(f, 4, 1);
    request_job_with_step(f, STEP_PORTS_EACH, 2);
    cancel_job(f, 1);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__CANCELLED);
    ask_again(f, 2, 1);
    assert_first_port(f, 2, 0, 0);
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    ask_again(f, 2, 1);
    assert_first_port(f, 2, 0, 0);
    fixture_gone(f, "n1", 1, 0);
    assert_first_port(f, 2, 1, 12000);
    fixture_free(f);
}

static void impossible_port_counts_are_refused_at_once(void **state)
{
    struct fixture *f = make_fixture();
    assert_int_equal(fixture_code(f, request_job_with_step(f, 5, 1)), ERR_STEP_CONFIG);
    assert_non_null(strstr(fixture_text(f, f->last_call), "has, which is 4"));
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_list_is_formatted_as_ranges),
        cmocka_unit_test(job_without_a_requested_step_ends),
        cmocka_unit_test(waiting_step_is_listed_once),
        cmocka_unit_test(ports_are_released_with_the_node),
        cmocka_unit_test(impossible_port_counts_are_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
