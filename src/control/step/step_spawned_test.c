/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job of srun, and processes that the tasks of its first step have spawned (docs/adr/0028). */
#include "control/fixture.h"
#include "control/internal.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\n"                                              \
    "NodeName=n1 CPUs=8\nPartitionName=a Nodes=ALL Default=YES\n"

static struct fixture *make_fixture(void)
{
    struct fixture *f = fixture_new(CONF);
    struct caller user = FIXTURE_USER;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    fixture_register(f, "n1", "i1");
    spec.has_num_tasks = step.has_num_tasks = true;
    spec.num_tasks = 4;
    step.num_tasks = 1;
    r.spec = &spec;
    r.step = &step;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    return f;
}

static void start_step(struct fixture *f, bool spawned)
{
    struct caller user = FIXTURE_USER;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.has_job_id = step.has_num_tasks = step.has_overlap = step.overlap = true;
    step.job_id = 1;
    step.num_tasks = 1;
    step.has_spawned_by = spawned;
    control_step_create(f->control, ++f->last_call, &user, &step);
    fixture_turn(f);
}

static void end_step(struct fixture *f, uint32_t step, int status)
{
    struct caller user = FIXTURE_USER;
    Pb__StepComplete r = PB__STEP_COMPLETE__INIT;
    r.job_id = 1;
    r.step_id = step;
    r.exit_status = status;
    control_step_complete(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
}

static void job_without_spawned_steps_ends_with_its_first_step(void **state)
{
    struct fixture *f = make_fixture();
    start_step(f, false);
    end_step(f, 0, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

static void job_continues_for_its_spawned_steps(void **state)
{
    struct fixture *f = make_fixture();
    start_step(f, true);
    start_step(f, true);
    end_step(f, 0, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    end_step(f, 2, 3 << 8);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    end_step(f, 1, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__FAILED); /* the highest status */
    fixture_free(f);
}

static void spawned_steps_may_end_before_the_first_step(void **state)
{
    struct fixture *f = make_fixture();
    start_step(f, true);
    end_step(f, 1, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    end_step(f, 0, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_without_spawned_steps_ends_with_its_first_step),
        cmocka_unit_test(job_continues_for_its_spawned_steps),
        cmocka_unit_test(spawned_steps_may_end_before_the_first_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
