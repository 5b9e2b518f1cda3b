/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attempts of users: excessive requests, requests about jobs of others, and reused request ids. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"
#include "control/life/depend.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nSlurmdTimeout=0\nNodeName=n[1-2] CPUs=4 "                \
    "RealMemory=4000\n"                                                                            \
    "PartitionName=a Nodes=ALL Default=YES\n"

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 2);
}

static int64_t submit_held_job(struct fixture *f, bool held)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_hold = true;
    s.hold = held;
    return fixture_submit(f, &user, &s);
}

static const char *get_reason(struct fixture *f, int64_t id)
{
    static char text[64];
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)id)->live;
    snprintf(text, sizeof text, "%s", l->reason ? l->reason : "None");
    return text;
}

static int hold_job(struct fixture *f, const struct caller *who, int64_t id, bool wanted,
                    bool requeue)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    r.has_hold = true;
    r.hold = wanted;
    r.has_requeue = r.requeue = requeue;
    return fixture_update_job(f, who, &r);
}

static void owner_cannot_release_the_hold_of_an_administrator(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    int64_t id = submit_held_job(f, true);
    assert_int_equal(hold_job(f, &root, id, true, false), 0);
    assert_int_equal(hold_job(f, &user, id, false, false), ERR_ACCESS);
    assert_int_equal(hold_job(f, &user, id, true, false), 0); /* in addition, not instead */
    assert_string_equal(get_reason(f, id), "JobHeldAdmin");
    assert_int_equal(hold_job(f, &user, id, false, false), ERR_ACCESS);
    assert_int_equal(hold_job(f, &root, id, false, false), 0);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void owner_cannot_release_the_hold_of_a_requeueing_job(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    int64_t id = submit_held_job(f, false);
    assert_int_equal(hold_job(f, &root, id, true, true), 0); /* requeuehold */
    assert_int_equal(hold_job(f, &user, id, false, true), ERR_ACCESS);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    assert_string_equal(get_reason(f, id), "JobHeldAdmin");
    fixture_free(f);
}

static void owner_cannot_raise_a_lowered_priority(void **state)
{
    struct fixture *f = fixture_new_up("PriorityType=priority/basic\n" CONF, 2);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec late = PB__JOB_SPEC__INIT, set = PB__JOB_SPEC__INIT;
    late.has_begin_at_sec = true;
    late.begin_at_sec = f->wall_ms / 1000 + 1000;
    int64_t id = fixture_submit(f, &user, &late);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    r.has_priority = true;
    r.priority = 1000;
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    r.has_priority = false;
    r.set = &set;
    set.has_nice = true;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_int_equal(fixture_job(f, &arena, (uint32_t)id)->live->priority, 1000);
    set.nice = 100;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_int_equal(fixture_job(f, &arena, (uint32_t)id)->live->priority, 900);
    set.nice = 0;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_int_equal(fixture_job(f, &arena, (uint32_t)id)->live->priority, 1000);
    fixture_free(f);
}

static int make_step(struct fixture *f, int64_t job, uint32_t tasks, uint32_t per_node,
                     bool overcommit)
{
    struct caller user = FIXTURE_USER;
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    s.has_job_id = s.has_num_tasks = s.has_ntasks_per_node = s.has_overcommit = true;
    s.job_id = (uint32_t)job;
    s.num_tasks = tasks;
    s.has_num_tasks = tasks > 0;
    s.ntasks_per_node = per_node;
    s.overcommit = overcommit;
    s.has_immediate = s.immediate = true;
    control_step_create(f->control, ++f->last_call, &user, &s);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void tasks_of_a_step_are_bounded_by_its_nodes(void **state)
{
    struct fixture *f = make_fixture();
    int64_t id = submit_held_job(f, false);
    assert_int_equal(make_step(f, id, 1000000000, 0, true), ERR_TOO_MANY_CPUS);
    assert_int_equal(make_step(f, id, UINT32_MAX, 0, true), ERR_TOO_MANY_CPUS);
    assert_int_equal(make_step(f, id, 0, UINT32_MAX, true), ERR_TOO_MANY_CPUS);
    assert_int_equal(make_step(f, id, 513, 0, true), ERR_TOO_MANY_CPUS); /* MaxTasksPerNode */
    assert_int_equal(make_step(f, id, 512, 0, true), 0);
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    struct caller user = FIXTURE_USER;
    s.has_num_tasks = s.has_overcommit = s.overcommit = true;
    s.num_tasks = UINT32_MAX;
    assert_true(fixture_submit(f, &user, &s) < 0);
    s.num_tasks = 1024;
    assert_true(fixture_submit(f, &user, &s) > 0);
    s.has_num_tasks = false;
    s.has_ntasks_per_node = s.has_min_nodes = true;
    s.ntasks_per_node = UINT32_MAX;
    s.min_nodes = 2;
    assert_true(fixture_submit(f, &user, &s) < 0);
    fixture_free(f);
}

static void waiting_steps_are_bounded(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    int64_t id = submit_held_job(f, false);
    assert_int_equal(make_step(f, id, 1, 0, false), 0);
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    s.has_job_id = s.has_num_tasks = true;
    s.job_id = (uint32_t)id;
    s.num_tasks = 1;
    int waiting = 0;
    for (int i = 0; i < 1000; i++) {
        control_step_create(f->control, ++f->last_call, &user, &s);
        waiting += fixture_code(f, f->last_call) == -1;
    }
    fixture_turn(f);
    assert_int_equal(waiting, 256);
    assert_int_equal(fixture_code(f, f->last_call), ERR_BUSY);
    fixture_free(f);
}

static uint64_t wait_for_step(struct fixture *f, int64_t job, char *name)
{
    struct caller user = FIXTURE_USER;
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    s.has_job_id = s.has_num_tasks = true;
    s.job_id = (uint32_t)job;
    s.num_tasks = 1;
    s.name = name;
    control_step_create(f->control, ++f->last_call, &user, &s);
    return f->last_call;
}

static void waiting_steps_of_a_user_are_bounded(void **state)
{
    struct fixture *f = make_fixture();
    char *name = mem_alloc(100001);
    unsigned waiting = 0;
    int64_t jobs[2] = {submit_held_job(f, false), submit_held_job(f, false)};
    memset(name, 'n', 100000);
    name[100000] = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(make_step(f, jobs[i], 1, 0, false), 0);
    uint64_t before = f->last_call;
    for (int i = 0; i < 400; i++)
        waiting += fixture_code(f, wait_for_step(f, jobs[i % 2], name)) == -1;
    assert_in_range(waiting, 160, 167); /* 16 MiB */
    assert_int_equal(fixture_code(f, f->last_call), ERR_BUSY);
    for (uint64_t call = before + 1; call <= before + 400; call++)
        control_call_gone(f->control, call);
    unsigned again = 0; /* dropped requests are free again */
    for (int i = 0; i < 400; i++)
        again += fixture_code(f, wait_for_step(f, jobs[i % 2], name)) == -1;
    assert_int_equal(again, waiting);
    free(name);
    fixture_free(f);
}

/* Each record is written again with each of the others. */
static void running_steps_are_bounded(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    int64_t id = submit_held_job(f, false);
    char *name = mem_alloc(30001);
    memset(name, 'n', 30000);
    name[30000] = 0;
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    s.has_job_id = s.has_num_tasks = s.has_overlap = s.overlap = true;
    s.job_id = (uint32_t)id;
    s.num_tasks = 1;
    s.name = name;
    int made = 0;
    do {
        control_step_create(f->control, ++f->last_call, &user, &s);
        fixture_turn(f);
        made += fixture_code(f, f->last_call) == 0;
    } while (fixture_code(f, f->last_call) == 0 && made < 1000);
    assert_in_range(made, 70, 72);
    assert_int_equal(fixture_code(f, f->last_call), -1); /* it waits */
    Pb__StepComplete end = PB__STEP_COMPLETE__INIT;
    end.job_id = (uint32_t)id;
    end.step_id = 0;
    uint64_t waiting = f->last_call;
    control_step_complete(f->control, ++f->last_call, &user, &end);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, waiting), 0);
    free(name);
    fixture_free(f);
}

/* The request id of a batch job is not one of an allocation, nor of another user. */
static void request_id_is_bound_to_request_type_and_user(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER, other = FIXTURE_OTHER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_hold = s.hold = s.has_immediate = s.immediate = s.has_request_id = true;
    s.request_id = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
    int64_t id = fixture_submit(f, &user, &s);
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    r.spec = &s;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), ERR_NODES_BUSY);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__PENDING);
    assert_true(fixture_submit(f, &other, &s) != id);
    /* Still found after the other user's request. */
    assert_int_equal(fixture_submit(f, &user, &s), id);
    fixture_restart(f);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__PENDING);
    assert_int_equal(fixture_submit(f, &user, &s), id);
    fixture_free(f);
}

/* Sums with the clock do not overflow. */
static void extreme_begin_times_do_not_overflow(void **state)
{
    static const struct {
        int64_t begin;
        Pb__JobState state;
    } rows[] = {{INT64_MIN, PB__JOB_STATE__RUNNING},
                {-1, PB__JOB_STATE__RUNNING},
                {INT64_MAX, PB__JOB_STATE__PENDING}};
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Pb__JobSpec s = PB__JOB_SPEC__INIT;
        s.has_begin_at_sec = true;
        s.begin_at_sec = rows[i].begin;
        int64_t id = fixture_submit(f, &user, &s);
        assert_int_equal(fixture_state(f, (uint32_t)id), rows[i].state);
        int64_t start = fixture_job(f, &arena, (uint32_t)id)->live->start_at;
        assert_true(start >= 0 && start < INT64_C(1) << 40);
    }
    fixture_free(f);
}

static int64_t find_length(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)id)->live;
    assert_int_equal(l->state, PB__JOB_STATE__RUNNING);
    return l->end_at - l->start_at;
}

/* Nor do sums of a time limit and the clock, in a partition without one. */
static void extreme_time_limits_do_not_overflow(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT, set = PB__JOB_SPEC__INIT;
    s.has_time_limit_sec = set.has_time_limit_sec = true;
    s.time_limit_sec = set.time_limit_sec = INT64_MAX - 1;
    int64_t id = fixture_submit(f, &user, &s);
    assert_true(find_length(f, id) > INT64_C(1) << 32);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    r.has_end_at = true;
    r.end_at = INT64_MIN;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_int_equal(find_length(f, id), 60);
    r.end_at = INT64_MAX;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    assert_true(find_length(f, id) > INT64_C(1) << 32);
    r.has_end_at = false;
    r.set = &set;
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    int64_t length = find_length(f, id);
    assert_true(length > INT64_C(1) << 32);
    fixture_restart(f);
    assert_int_equal(find_length(f, id), length);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_cannot_release_the_hold_of_an_administrator),
        cmocka_unit_test(owner_cannot_release_the_hold_of_a_requeueing_job),
        cmocka_unit_test(owner_cannot_raise_a_lowered_priority),
        cmocka_unit_test(tasks_of_a_step_are_bounded_by_its_nodes),
        cmocka_unit_test(waiting_steps_are_bounded),
        cmocka_unit_test(waiting_steps_of_a_user_are_bounded),
        cmocka_unit_test(running_steps_are_bounded),
        cmocka_unit_test(request_id_is_bound_to_request_type_and_user),
        cmocka_unit_test(extreme_begin_times_do_not_overflow),
        cmocka_unit_test(extreme_time_limits_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
