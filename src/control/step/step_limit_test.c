/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of steps that the controller enforces: their time (GANG-39), number and memory. */
#include <string.h>

#include "base/step_id.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nNodeName=n[1-2] CPUs=4\n"                      \
    "PartitionName=a Nodes=ALL Default=YES\n"
#define MINUTE_MS 60000

/* Job 1 runs on n1 with the steps 1.0 and 1.1, with a limit of 'minutes' each; 0: no limit. */
static struct fixture *make_fixture(int64_t minutes)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    struct caller user = FIXTURE_USER;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    spec.has_num_tasks = step.has_num_tasks = step.has_job_id = step.has_overlap = true;
    step.overlap = true;
    spec.num_tasks = step.num_tasks = step.job_id = 1;
    step.has_time_limit_sec = minutes > 0;
    step.time_limit_sec = minutes * 60;
    r.spec = &spec;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    for (int i = 0; i < 2; i++) {
        control_step_create(f->control, ++f->last_call, &user, &step);
        fixture_turn(f);
        assert_int_equal(fixture_code(f, f->last_call), 0);
    }
    fixture_clear(f);
    return f;
}

static int change_limit(struct fixture *f, const struct caller *who, int step_id, int64_t limit_sec,
                        int64_t change_sec)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__StepLimit limit = PB__STEP_LIMIT__INIT;
    r.job_id = 1;
    r.step_limit = &limit;
    limit.has_step_id = step_id >= 0;
    limit.step_id = (uint32_t)step_id;
    limit.has_limit_sec = limit_sec != 0;
    limit.limit_sec = limit_sec;
    limit.has_change_sec = change_sec != 0;
    limit.change_sec = change_sec;
    return fixture_update_job(f, who, &r);
}

/* Returns the number of orders to end this step, each with the reason for users. */
static size_t count_end_orders(const struct fixture *f, uint32_t step_id)
{
    size_t count = 0;
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++) {
            const Pb__Terminate *t = (*o)->orders->orders[i]->terminate;
            if (!t || !t->has_step_id || t->step_id != step_id)
                continue;
            assert_string_equal(t->why, "TIME LIMIT");
            count++;
        }
    return count;
}

static void changed_limit_ends_the_named_steps(void **state)
{
    static const struct {
        int64_t was_min;
        int step; /* -1: all */
        int64_t limit_sec, change_sec;
        int code;
        int64_t ends_min; /* after its begin; 0: it does not */
    } rows[] = {
        {10, 0, 300, 0, 0, 5},
        {10, 0, 0, 600, 0, 20},
        {10, 0, 0, -300, 0, 5},
        {10, -1, 290, 0, 0, 5},
        {0, 1, 180, 0, 0, 3},
        {10, 0, INT64_MAX, 0, 0, 0},
        {10, 0, 30, 0, ERR_TIME_LIMIT, 0},
        {10, 0, 0, -600, ERR_TIME_LIMIT, 0},
        {0, 0, 0, 600, ERR_TIME_LIMIT, 0},
        {10, 7, 300, 0, ERR_NO_STEP, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int restart = 0; restart <= 1; restart++) {
            struct fixture *f = make_fixture(rows[i].was_min);
            struct caller user = FIXTURE_USER;
            uint32_t one = rows[i].step > 0 ? 1 : 0;
            assert_int_equal(
                change_limit(f, &user, rows[i].step, rows[i].limit_sec, rows[i].change_sec),
                rows[i].code);
            if (restart) {
                fixture_restart(f);
                fixture_register_job(f, "n1", 1, false);
                fixture_turn(f);
                fixture_clear(f);
            }
            int64_t min = rows[i].ends_min ? rows[i].ends_min : 30;
            fixture_pass(f, (min - 1) * MINUTE_MS);
            assert_int_equal(count_end_orders(f, one), 0);
            fixture_pass(f, MINUTE_MS + 1000);
            assert_int_equal(count_end_orders(f, one) > 0, rows[i].ends_min > 0);
            assert_int_equal(count_end_orders(f, !one) > 0, rows[i].step < 0);
            assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
            fixture_free(f);
        }
}

static void only_owner_and_operators_change_a_step_limit(void **state)
{
    struct fixture *f = make_fixture(10);
    struct caller other = FIXTURE_USER, root = FIXTURE_ROOT;
    (void)state;
    other.uid++;
    assert_int_equal(change_limit(f, &other, 0, 300, 0), ERR_ACCESS);
    assert_int_equal(change_limit(f, &root, 0, 300, 0), 0);
    fixture_free(f);
}

/* The time of a suspension does not count. */
static void suspended_step_keeps_its_time(void **state)
{
    struct fixture *f = make_fixture(10);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSuspend m = PB__JOB_SUSPEND__INIT;
    (void)state;
    assert_int_equal(change_limit(f, &user, 0, 300, 0), 0);
    m.job_id = 1;
    control_job_suspend(f->control, ++f->last_call, &root, &m);
    fixture_turn(f);
    fixture_pass(f, 20 * MINUTE_MS);
    m.has_resume = m.resume = true;
    control_job_suspend(f->control, ++f->last_call, &root, &m);
    fixture_turn(f);
    fixture_pass(f, 4 * MINUTE_MS);
    assert_int_equal(count_end_orders(f, 0), 0);
    fixture_pass(f, MINUTE_MS + 1000);
    assert_true(count_end_orders(f, 0) > 0);
    fixture_free(f);
}

/* Returns step 1.0 in the listing of squeue -s. */
static const Pb__StepRecord *list_step(struct fixture *f, struct arena *arena)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    _cleanup_str_ struct str out = STR_INIT;
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    uint64_t cursor = 0;
    assert_false(control_list_steps(f->control, &root, &filter, &cursor, 1 << 20, &out));
    const Pb__StepList *m = arena_unpack(arena, &pb__step_list__descriptor, out.data, out.len);
    for (size_t i = 0; i < m->n_steps; i++)
        if (m->steps[i]->step_id == 0)
            return m->steps[i];
    fail();
    return NULL;
}

/* srun counts suspended time, so the controller enforces the limit after a suspension. The time of
 * the step is its run time. */
static void limit_that_srun_enforces_spares_a_suspension(void **state)
{
    (void)state;
    for (int restart = 0; restart <= 1; restart++) {
        struct fixture *f = make_fixture(5);
        struct caller root = FIXTURE_ROOT;
        Pb__JobSuspend m = PB__JOB_SUSPEND__INIT;
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        assert_false(list_step(f, &arena)->limit_changed);
        fixture_pass(f, 2 * MINUTE_MS);
        m.job_id = 1;
        control_job_suspend(f->control, ++f->last_call, &root, &m);
        fixture_turn(f);
        assert_true(list_step(f, &arena)->limit_changed);
        assert_true(list_step(f, &arena)->suspended);
        if (restart) {
            fixture_restart(f);
            fixture_register_job(f, "n1", 1, false);
        }
        fixture_pass(f, 20 * MINUTE_MS);
        assert_int_equal(list_step(f, &arena)->job_run_ms, 2 * MINUTE_MS);
        m.has_resume = m.resume = true;
        control_job_suspend(f->control, ++f->last_call, &root, &m);
        fixture_turn(f);
        fixture_pass(f, 2 * MINUTE_MS);
        assert_int_equal(list_step(f, &arena)->job_run_ms, 4 * MINUTE_MS);
        assert_false(list_step(f, &arena)->suspended);
        assert_int_equal(count_end_orders(f, 0), 0);
        fixture_pass(f, MINUTE_MS + 1000);
        assert_true(count_end_orders(f, 0) > 0);
        assert_true(count_end_orders(f, 1) > 0);
        fixture_free(f);
    }
}

static void steps_and_memory_of_a_job_are_limited(void **state)
{
    struct fixture *f = fixture_new_up(
        "SelectTypeParameters=CR_Core_Memory\nNodeName=n1 CPUs=4 RealMemory=4000\nMaxStepCount=2\n"
        "PartitionName=a Nodes=ALL Default=YES DefMemPerNode=1000\n",
        1);
    static const struct {
        uint64_t memory_mib;
        int code;
    } steps[] = {{2000, ERR_STEP_MEMORY}, {100, 0}, {100, 0}, {100, ERR_STEP_LIMIT}};
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    (void)state;
    r.spec = &spec;
    control_alloc(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        Pb__StepSpec step = PB__STEP_SPEC__INIT;
        step.has_num_tasks = step.has_job_id = step.has_overlap = step.has_mem_per_node_mib = true;
        step.num_tasks = step.job_id = step.overlap = 1;
        step.mem_per_node_mib = steps[i].memory_mib;
        control_step_create(f->control, ++f->last_call, &FIXTURE_USER, &step);
        fixture_turn(f);
        assert_int_equal(fixture_code(f, f->last_call), steps[i].code);
    }
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_limit_ends_the_named_steps),
        cmocka_unit_test(only_owner_and_operators_change_a_step_limit),
        cmocka_unit_test(suspended_step_keeps_its_time),
        cmocka_unit_test(limit_that_srun_enforces_spares_a_suspension),
        cmocka_unit_test(steps_and_memory_of_a_job_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
