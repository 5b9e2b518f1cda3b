/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol suspend and resume: rejections, clocks, cores, lost and late reports of nodes. */
#include <string.h>

#include "control/event/event.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nSlurmdTimeout=0\n"

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 2);
}

/* Starts a job with a limit of ten minutes, and this number of CPUs and MiB on n1. */
static int64_t start_job(struct fixture *f, uint32_t cpus, uint64_t mem_mib)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_num_tasks = s.has_mem_per_node_mib = s.has_time_limit_sec = true;
    s.num_tasks = cpus;
    s.mem_per_node_mib = mem_mib;
    s.time_limit_sec = 600;
    s.req_nodes = (char *)"n1";
    int64_t id = fixture_submit(f, &FIXTURE_USER, &s);
    assert_true(id > 0);
    if (fixture_state(f, (uint32_t)id) == PB__JOB_STATE__RUNNING)
        fixture_launched(f, "n1", (uint32_t)id, 0);
    return id;
}

/* Returns the number of the last order to the node about the job (0: none), and its kind. */
static uint32_t find_last_order(const struct fixture *f, const char *node, int64_t id, bool *stop)
{
    uint32_t number = 0;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; strcmp((*at)->node, node) == 0 && i < (*at)->orders->n_orders; i++) {
            const Pb__Halt *m = (*at)->orders->orders[i]->halt;
            if (m && m->job_id == id) {
                number = m->number;
                *stop = m->stop;
            }
        }
    return number;
}

static uint32_t count_used_cpus(struct fixture *f, const char *node)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    return fixture_node(f, &arena, node)->alloc_cpus;
}

static void invalid_suspends_are_refused(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t runs = start_job(f, 4, 100), waits = start_job(f, 1, 100);
    assert_int_equal(fixture_suspend(f, 4711, false), ERR_NO_JOB);
    assert_int_equal(fixture_suspend(f, waits, false), ERR_JOB_PENDING);
    assert_int_equal(fixture_suspend(f, waits, true), ERR_JOB_PENDING);
    assert_int_equal(fixture_suspend(f, runs, true), ERR_NOT_SUSPENDED);
    Pb__JobSuspend r = PB__JOB_SUSPEND__INIT;
    r.job_id = (uint32_t)runs;
    control_job_suspend(f->control, ++f->last_call, &FIXTURE_USER, &r); /* the job's owner */
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), ERR_ACCESS);
    assert_int_equal(fixture_suspend(f, runs, false), 0);
    assert_int_equal(fixture_suspend(f, runs, false), ERR_NOT_RUNNING);
    fixture_batch_ended(f, "n1", (uint32_t)runs, 0, 0);
    assert_int_equal(fixture_suspend(f, runs, false), ERR_JOB_DONE);
    assert_int_equal(fixture_suspend(f, runs, true), ERR_JOB_DONE);
    fixture_free(f);
}

static void cores_are_free_after_the_node_confirms(void **state)
{
    struct fixture *f = make_fixture();
    bool stop = false;
    (void)state;
    int64_t first = start_job(f, 4, 3000);
    assert_int_equal(fixture_suspend(f, first, false), 0);
    assert_int_equal(find_last_order(f, "n1", first, &stop), 1);
    assert_true(stop);
    int64_t second = start_job(f, 2, 1000), greedy = start_job(f, 1, 1001);
    assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__PENDING);
    fixture_halted(f, "n1", (uint32_t)first, 2); /* for an order that was never given */
    assert_int_equal(count_used_cpus(f, "n1"), 4);
    fixture_halted(f, "n1", (uint32_t)first, 1);
    assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, (uint32_t)greedy), PB__JOB_STATE__PENDING);
    assert_int_equal(count_used_cpus(f, "n1"), 2);
    assert_int_equal(fixture_suspend(f, first, true), ERR_NODES_BUSY);
    assert_non_null(strstr(fixture_text(f, f->last_call), "n1: job "));
    fixture_launched(f, "n1", (uint32_t)second, 0);
    fixture_batch_ended(f, "n1", (uint32_t)second, 0, 0);
    fixture_gone(f, "n1", (uint32_t)second, 0);
    assert_int_equal(fixture_suspend(f, first, true), 0);
    assert_int_equal(find_last_order(f, "n1", first, &stop), 2);
    assert_false(stop);
    assert_int_equal(count_used_cpus(f, "n1"), 4);
    fixture_halted(f, "n1", (uint32_t)first, 1); /* late: the job runs again */
    assert_int_equal(count_used_cpus(f, "n1"), 4);
    fixture_free(f);
}

static void suspended_time_does_not_count(void **state)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct fixture *f = make_fixture();
    (void)state;
    int64_t id = start_job(f, 1, 100);
    fixture_pass(f, 100000);
    assert_int_equal(fixture_suspend(f, id, false), 0);
    fixture_halted(f, "n1", (uint32_t)id, 1);
    fixture_pass(f, 1000000);
    fixture_restart(f);
    f->wall_ms += 7200000; /* the wall clock is set */
    fixture_pass(f, 1000000);
    const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)id)->live;
    assert_int_equal(l->state, PB__JOB_STATE__SUSPENDED);
    assert_int_equal(l->ran_ms, 100000);
    assert_false(l->has_end_at);
    f->boot++; /* another machine leads */
    f->mono_ms = 5000;
    fixture_restart(f);
    assert_int_equal(fixture_suspend(f, id, true), 0);
    l = fixture_job(f, &arena, (uint32_t)id)->live;
    assert_int_equal(f->wall_ms / 1000 - l->start_at - l->suspended_sec, 100);
    assert_int_equal(l->end_at, f->wall_ms / 1000 + 500);
    fixture_pass(f, 499000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_restart(f);
    fixture_pass(f, 2000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

/* Fractions of seconds do not add up when another machine takes over. */
static void repeated_suspends_lose_no_time(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t id = start_job(f, 1, 100);
    for (uint32_t i = 0; i < 20; i++) {
        fixture_pass(f, 1900);
        assert_int_equal(fixture_suspend(f, id, false), 0);
        fixture_halted(f, "n1", (uint32_t)id, 2 * i + 1);
        fixture_pass(f, 1100);
        assert_int_equal(fixture_suspend(f, id, true), 0);
    }
    f->boot++;
    f->mono_ms = 5000;
    fixture_restart(f);
    fixture_pass(f, (600 - 38 - 2) * 1000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 4000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

/* Nor do the fractions of many takeovers. */
static void many_takeovers_lose_no_time(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t id = start_job(f, 1, 100);
    for (uint32_t i = 0; i < 20; i++) {
        fixture_pass(f, 1900);
        f->boot++;
        fixture_restart(f);
        assert_int_equal(fixture_suspend(f, id, false), 0);
        fixture_pass(f, 1150);
        assert_int_equal(fixture_suspend(f, id, true), 0);
    }
    fixture_pass(f, (600 - 38) * 1000 - 100);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 1100);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

/* Resources that suspended jobs keep on a node are not available to a job with the whole node. */
static void a_whole_node_beside_a_suspended_job(void **state)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct fixture *f = make_fixture();
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    (void)state;
    int64_t id = start_job(f, 1, 100);
    assert_int_equal(fixture_suspend(f, id, false), 0);
    fixture_halted(f, "n1", (uint32_t)id, 1);
    s.has_exclusive = s.exclusive = s.has_mem_per_cpu_mib = true;
    s.mem_per_cpu_mib = 1000; /* all of it for four CPUs, more than is free now */
    s.req_nodes = (char *)"n1";
    int64_t whole = fixture_submit(f, &FIXTURE_USER, &s);
    assert_int_equal(fixture_state(f, (uint32_t)whole), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_node(f, &arena, "n1")->alloc_mem_mib, 4000);
    fixture_free(f);
}

/* A node with a suspended job of another user is not available to a job with --exclusive=user;
 * reservations for pending jobs respect this. */
static void a_user_alone_beside_a_suspended_job(void **state)
{
    struct fixture *f = fixture_new(CONF "PartitionName=b Nodes=ALL MaxCPUsPerNode=4\n"
                                         "NodeName=n3 CPUs=4 RealMemory=4000\n");
    struct caller other = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    (void)state;
    for (const char *const *name = (const char *const[]){"n1", "n2", "n3", NULL}; *name; name++)
        fixture_register(f, *name, "i1");
    int64_t id = start_job(f, 1, 100);
    assert_int_equal(fixture_suspend(f, id, false), 0);
    fixture_halted(f, "n1", (uint32_t)id, 1);
    s.partition = (char *)"b";
    s.has_time_limit_sec = s.has_num_tasks = true;
    s.time_limit_sec = 600;
    s.num_tasks = 2;
    s.req_nodes = (char *)"n2";
    assert_true(fixture_submit(f, &FIXTURE_USER, &s) > 0);
    s.req_nodes = NULL;
    s.num_tasks = 12;
    int64_t head = fixture_submit(f, &FIXTURE_USER, &s);
    assert_int_equal(fixture_state(f, (uint32_t)head), PB__JOB_STATE__PENDING);
    other.uid++;
    s.num_tasks = 1;
    s.time_limit_sec = 60;
    s.has_exclusive_user = s.exclusive_user = true;
    int64_t alone = fixture_submit(f, &other, &s);
    assert_int_equal(fixture_state(f, (uint32_t)alone), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* A lowered limit affects other jobs, not a job that holds its CPUs. */
static void lowered_partition_limit_spares_a_suspended_job(void **state)
{
    struct fixture *f = make_fixture();
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    (void)state;
    int64_t id = start_job(f, 2, 100), other = start_job(f, 1, 100);
    set.name = (char *)"a";
    set.has_max_cpus_per_node = true;
    set.max_cpus_per_node = 1;
    assert_int_equal(fixture_update_part(f, &set), 0);
    assert_int_equal(fixture_suspend(f, id, false), 0);
    fixture_halted(f, "n1", (uint32_t)id, 1);
    assert_int_equal(fixture_suspend(f, id, true), ERR_NODES_BUSY);
    assert_int_equal(fixture_suspend(f, other, false), 0);
    fixture_halted(f, "n1", (uint32_t)other, 1);
    assert_int_equal(fixture_suspend(f, id, true), 0);
    assert_int_equal(count_used_cpus(f, "n1"), 2);
    assert_int_equal(fixture_suspend(f, other, true), ERR_NODES_BUSY);
    fixture_free(f);
}

static void a_lost_order_is_repeated(void **state)
{
    struct fixture *f = make_fixture();
    bool stop = false;
    (void)state;
    int64_t id = start_job(f, 1, 100);
    assert_int_equal(fixture_suspend(f, id, false), 0);
    fixture_clear(f);
    fixture_pass(f, 6000);
    assert_int_equal(find_last_order(f, "n1", id, &stop), 1);
    fixture_clear(f);
    fixture_restart(f);
    fixture_pass(f, 6000);
    assert_int_equal(find_last_order(f, "n1", id, &stop), 1);
    fixture_halted(f, "n1", (uint32_t)id, 1);
    fixture_clear(f);
    fixture_pass(f, 60000);
    assert_int_equal(find_last_order(f, "n1", id, &stop), 0);
    fixture_restart(f);
    assert_int_equal(count_used_cpus(f, "n1"), 0); /* the node's report is stored */
    assert_int_equal(fixture_suspend(f, id, true), 0);
    fixture_clear(f);
    fixture_pass(f, 6000);
    assert_int_equal(find_last_order(f, "n1", id, &stop), 2);
    assert_false(stop);
    fixture_free(f);
}

static void suspended_job_can_be_cancelled_without_its_cores(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t first = start_job(f, 4, 1000);
    assert_int_equal(fixture_suspend(f, first, false), 0);
    fixture_halted(f, "n1", (uint32_t)first, 1);
    int64_t second = start_job(f, 4, 1000);
    assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__RUNNING);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)first;
    r.has_requeue = r.requeue = true;
    assert_int_equal(fixture_update_job(f, &FIXTURE_ROOT, &r), 0);
    fixture_restart(f); /* it is completing, and the other job has the cores */
    assert_int_equal(count_used_cpus(f, "n1"), 4);
    fixture_register(f, "n1", "i1");
    fixture_gone(f, "n1", (uint32_t)first, 0);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)first)->live;
    assert_int_equal(l->state, PB__JOB_STATE__PENDING);
    assert_int_equal(l->priority, 0);
    assert_false(l->has_halts);
    fixture_free(f);
}

static uint64_t request_step(struct fixture *f, uint32_t job, bool immediate)
{
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.has_job_id = step.has_num_tasks = step.has_immediate = true;
    step.immediate = immediate;
    step.job_id = job;
    step.num_tasks = 1;
    control_step_create(f->control, ++f->last_call, &FIXTURE_USER, &step);
    fixture_turn(f);
    return f->last_call;
}

static size_t count_steps(struct fixture *f, uint32_t job)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    return fixture_job(f, &arena, job)->n_steps;
}

/* An srun job that starts after a restart of the controller has no step until its srun is back; by
 * then the job is suspended, and another job may have its CPUs. */
static struct fixture *suspend_before_step(void)
{
    struct fixture *f = fixture_new(CONF);
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__AllocWait w = PB__ALLOC_WAIT__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.has_num_tasks = true;
    step.num_tasks = 1;
    r.spec = &spec;
    r.step = w.step = &step;
    w.job_id = 1;
    control_alloc(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_suspend(f, 1, false), 0);
    control_alloc_wait(f->control, ++f->last_call, &FIXTURE_USER, &w);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    return f;
}

static void suspended_job_creates_its_step_when_resumed(void **state)
{
    struct fixture *f = suspend_before_step();
    (void)state;
    assert_int_equal(count_steps(f, 1), 0);
    uint64_t call = request_step(f, 1, false), at_once = request_step(f, 1, true);
    fixture_pass(f, 60000);
    assert_int_equal(fixture_code(f, call), -1);
    assert_int_equal(fixture_code(f, at_once), ERR_JOB_SUSPENDED);
    assert_int_equal(count_steps(f, 1), 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__SUSPENDED);
    assert_int_equal(fixture_suspend(f, 1, true), 0);
    assert_int_equal(fixture_code(f, call), 0);
    assert_int_equal(count_steps(f, 1), 1);
    fixture_free(f);
}

static void suspended_job_ends_when_its_srun_never_requests_the_step(void **state)
{
    struct fixture *f = suspend_before_step();
    (void)state;
    fixture_pass(f, 60000);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_suspends_are_refused),
        cmocka_unit_test(cores_are_free_after_the_node_confirms),
        cmocka_unit_test(suspended_time_does_not_count),
        cmocka_unit_test(repeated_suspends_lose_no_time),
        cmocka_unit_test(many_takeovers_lose_no_time),
        cmocka_unit_test(a_whole_node_beside_a_suspended_job),
        cmocka_unit_test(a_user_alone_beside_a_suspended_job),
        cmocka_unit_test(lowered_partition_limit_spares_a_suspended_job),
        cmocka_unit_test(a_lost_order_is_repeated),
        cmocka_unit_test(suspended_job_can_be_cancelled_without_its_cores),
        cmocka_unit_test(suspended_job_creates_its_step_when_resumed),
        cmocka_unit_test(suspended_job_ends_when_its_srun_never_requests_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
