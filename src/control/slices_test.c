/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pass that takes several turns: each turn examines one job. */
#include <string.h>

#include "control/fixture.h"

static const char lines[] = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
                            "NodeName=n[1-2] CPUs=4\n"
                            "PartitionName=p Nodes=ALL Default=YES MaxTime=UNLIMITED\n"
                            "PartitionName=q Nodes=ALL\n";

static struct fixture *make_fixture(void)
{
    struct fixture *f = fixture_new(lines);
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "b");
    fixture_turn(f);
    control_set_plan_work(f->control, 1);
    return f;
}

/* Submits a batch job with this number of CPUs on each of this number of nodes; one turn. */
static uint32_t submit_wide(struct fixture *f, uint32_t nodes, uint32_t cpus, int64_t limit_sec)
{
    struct caller who = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_cpus_per_task = s.has_time_limit_sec = true;
    s.min_nodes = nodes;
    s.cpus_per_task = cpus;
    s.time_limit_sec = limit_sec;
    int64_t id = fixture_submit(f, &who, &s);
    assert_true(id > 0);
    return (uint32_t)id;
}

static uint32_t submit_job(struct fixture *f, uint32_t cpus)
{
    return submit_wide(f, 1, cpus, 600);
}

/* Requests an allocation; one turn. */
static uint64_t request_allocation(struct fixture *f, uint32_t cpus, bool immediate)
{
    struct caller who = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    s.has_cpus_per_task = s.has_immediate = true;
    s.cpus_per_task = cpus;
    s.immediate = immediate;
    r.spec = &s;
    uint64_t call = ++f->last_call;
    control_alloc(f->control, call, &who, &r);
    fixture_turn(f);
    return call;
}

static void run_turns(struct fixture *f, int count)
{
    while (count-- > 0)
        fixture_turn(f);
}

static size_t count_job_records(const struct fixture *f)
{
    size_t count = 0;
    vec_foreach (&f->records, r)
        count += r->kind == RECORD_JOB;
    return count;
}

/* It requests another turn at once while the pass is not complete. */
static void incomplete_pass_continues_by_itself(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t last = 0;
    (void)state;
    fixture_update_node(f, "n[1-2]", "DRAIN", "test");
    run_turns(f, 3);
    for (int i = 0; i < 8; i++)
        last = submit_job(f, 1);
    run_turns(f, 12);
    fixture_update_node(f, "n[1-2]", "RESUME", NULL);
    assert_int_equal(fixture_state(f, last), PB__JOB_STATE__PENDING);
    fixture_pass(f, 1);
    assert_int_equal(fixture_state(f, last), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void allocation_is_told_to_wait_after_its_examination(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    submit_job(f, 4);
    submit_job(f, 4);
    run_turns(f, 4);
    submit_job(f, 4);
    uint64_t call = request_allocation(f, 4, false);
    assert_int_equal(fixture_code(f, call), -1);
    run_turns(f, 6);
    assert_int_equal(fixture_code(f, call), 0);
    fixture_free(f);
}

/* Until it is known whether the job starts it is invisible: no record, no line in a listing. */
static void immediate_request_starts_in_its_pass_or_never(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    submit_job(f, 4);
    uint32_t last = submit_job(f, 4);
    run_turns(f, 4);
    submit_job(f, 4);
    size_t records = count_job_records(f);
    uint64_t call = request_allocation(f, 4, true);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(count_job_records(f), records);
        assert_null(fixture_job(f, &arena, last + 2));
        fixture_turn(f);
    }
    assert_int_equal(fixture_code(f, call), ERR_NODES_BUSY);
    assert_null(fixture_job(f, &arena, last + 2));
    fixture_free(f);
}

static void immediate_request_starts_if_nodes_are_free(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    submit_job(f, 4);
    run_turns(f, 2);
    uint64_t call = request_allocation(f, 4, true);
    run_turns(f, 4);
    assert_int_equal(fixture_code(f, call), 0);
    assert_int_equal(count_job_records(f), 2);
    fixture_free(f);
}

/* The waiting client disconnects before the job is examined. */
static void cancelled_immediate_request_leaves_no_job(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    submit_job(f, 4);
    submit_job(f, 4);
    run_turns(f, 4);
    submit_job(f, 4);
    uint64_t call = request_allocation(f, 4, true);
    control_call_gone(f->control, call);
    run_turns(f, 6);
    assert_int_equal(fixture_code(f, call), -1);
    assert_int_equal(count_job_records(f), 3);
    fixture_free(f);
}

/* Resources that become free while the last jobs are examined belong to the jobs before them. */
static void resources_freed_during_a_pass_go_to_earlier_jobs(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t running = submit_job(f, 4), other = submit_job(f, 4);
    (void)state;
    run_turns(f, 4);
    assert_int_equal(fixture_state(f, other), PB__JOB_STATE__RUNNING);
    fixture_launched(f, "n1", running, 0);
    submit_wide(f, 2, 4, 600); /* the first job; the others would end before it can begin */
    uint32_t first = submit_wide(f, 1, 4, 60), second = submit_wide(f, 1, 3, 60);
    run_turns(f, 8);
    submit_job(f, 4); /* another pass: examines the first job */
    run_turns(f, 1);  /* and the next one */
    fixture_batch_ended(f, "n1", running, 0, 0);
    fixture_gone(f, "n1", running, 0);
    run_turns(f, 12);
    assert_int_equal(fixture_state(f, first), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, second), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

static void cancel_job(struct fixture *f, uint32_t job)
{
    struct caller root = FIXTURE_ROOT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets[] = {&target};
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    target.job_id = job;
    r.target = targets;
    r.n_target = 1;
    control_job_signal(f->control, ++f->last_call, &root, &r);
}

static void remove_part(struct fixture *f, const char *name)
{
    struct caller root = FIXTURE_ROOT;
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    Pb__PartUpdate r = PB__PART_UPDATE__INIT;
    set.name = (char *)name;
    r.set = &set;
    r.has_remove = r.remove = true;
    control_part_update(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
}

/* Everything may change between two turns of a pass: here the next job. */
static void changes_between_turns_of_a_pass_are_survived(void **state)
{
    struct fixture *f = make_fixture();
    struct caller who = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    uint32_t ids[6];
    (void)state;
    s.partition = (char *)"q";
    for (int i = 0; i < 6; i++)
        ids[i] = submit_job(f, 4);
    run_turns(f, 8);
    int64_t other = fixture_submit(f, &who, &s); /* the first turn of a pass */
    cancel_job(f, (uint32_t)other);
    cancel_job(f, ids[3]);
    remove_part(f, "q");
    run_turns(f, 8);
    fixture_update_node(f, "n1", "DOWN", "test");
    fixture_turn(f);
    fixture_reconfigure(f, lines);
    fixture_turn(f);
    fixture_restart(f);
    run_turns(f, 20);
    assert_int_equal(fixture_state(f, ids[5]), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(incomplete_pass_continues_by_itself),
        cmocka_unit_test(allocation_is_told_to_wait_after_its_examination),
        cmocka_unit_test(immediate_request_starts_in_its_pass_or_never),
        cmocka_unit_test(immediate_request_starts_if_nodes_are_free),
        cmocka_unit_test(cancelled_immediate_request_leaves_no_job),
        cmocka_unit_test(resources_freed_during_a_pass_go_to_earlier_jobs),
        cmocka_unit_test(changes_between_turns_of_a_pass_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
