/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * InactiveLimit: which allocations end when no client is connected, and when.
 *
 * --deadline: a job is cancelled in time, not early, and gets no more time than is left.
 */
#include <string.h>

#include "control/fixture.h"

#define NODES                                                                                      \
    "NodeName=n1 CPUs=4\nPartitionName=a Nodes=ALL Default=YES\n"                                  \
    "PartitionName=r Nodes=ALL RootOnly=YES\nSlurmdTimeout=0\n"
#define LIMIT NODES "InactiveLimit=60\n"
#define SEC INT64_C(1000)
#define LATEST (66 * SEC) /* the limit and the slack */

struct kind {
    bool unattended;
    const char *partition;
};

static uint32_t request_allocation(struct fixture *f, struct kind kind)
{
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_unattended = s.unattended = kind.unattended;
    s.partition = (char *)kind.partition;
    r.spec = &s;
    uint32_t id = control_next_job_id(f->control);
    control_alloc(f->control, ++f->last_call, &FIXTURE_ROOT, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    return id;
}

static struct fixture *make_world(const char *lines)
{
    return fixture_new_up(lines, 1);
}

/* Connects like salloc and srun; returns the call. */
static uint64_t connect_client(struct fixture *f, uint32_t id)
{
    Pb__JobIdRequest m = PB__JOB_ID_REQUEST__INIT;
    m.job_id = id;
    m.has_notices_seen = m.has_of_job = m.of_job = true;
    control_job_wait_end(f->control, ++f->last_call, &FIXTURE_ROOT, &m);
    fixture_turn(f);
    return f->last_call;
}

static void disconnect_client(struct fixture *f, uint64_t call)
{
    control_call_gone(f->control, call);
    fixture_turn(f);
}

static void assert_job_runs(struct fixture *f, uint32_t id)
{
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
}

static void has_ended(struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobRecord *r = fixture_job(f, &arena, id);
    assert_int_equal(r->live->state, PB__JOB_STATE__TIMEOUT);
    assert_string_equal(r->live->reason, "InactiveLimit");
}

static void allocation_ends_when_its_client_leaves(void **state)
{
    (void)state;
    struct fixture *f = make_world(LIMIT);
    uint32_t id = request_allocation(f, (struct kind){0});
    uint64_t first = connect_client(f, id), second = connect_client(f, id);
    fixture_pass(f, 1000 * SEC);
    disconnect_client(f, first);
    fixture_pass(f, 1000 * SEC);
    assert_job_runs(f, id); /* one client is connected */
    disconnect_client(f, second);
    fixture_pass(f, 59 * SEC);
    uint64_t third = connect_client(f, id); /* and reconnected in time */
    fixture_pass(f, 1000 * SEC);
    assert_job_runs(f, id);
    disconnect_client(f, third);
    fixture_pass(f, 59 * SEC);
    assert_job_runs(f, id);
    fixture_pass(f, 7 * SEC);
    has_ended(f, id);
    fixture_free(f);
}

static void allocation_ends_if_its_client_never_calls(void **state)
{
    (void)state;
    struct fixture *f = make_world(LIMIT);
    uint32_t id = request_allocation(f, (struct kind){0});
    fixture_pass(f, LATEST);
    has_ended(f, id);
    fixture_free(f);
}

/* A client calls again after the restart: the time counts from the restart. */
static void client_timeout_counts_from_a_restart(void **state)
{
    (void)state;
    struct fixture *f = make_world(LIMIT);
    uint32_t id = request_allocation(f, (struct kind){0}),
             other = request_allocation(f, (struct kind){0});
    connect_client(f, id);
    connect_client(f, other);
    fixture_pass(f, 1000 * SEC);
    fixture_restart(f);
    fixture_pass(f, 59 * SEC);
    connect_client(f, other);
    assert_job_runs(f, id);
    fixture_reconfigure(f, LIMIT);
    fixture_pass(f, 7 * SEC);
    has_ended(f, id);
    fixture_pass(f, 1000 * SEC);
    assert_job_runs(f, other);
    fixture_free(f);
}

static void notice_does_not_end_the_allocation(void **state)
{
    Pb__JobNotify m = PB__JOB_NOTIFY__INIT;
    Pb__StepId target = PB__STEP_ID__INIT;
    (void)state;
    struct fixture *f = make_world(LIMIT);
    uint32_t id = request_allocation(f, (struct kind){0});
    connect_client(f, id);
    target.job_id = id;
    m.target = &target;
    m.text = (char *)"hello";
    control_job_notify(f->control, ++f->last_call, &FIXTURE_ROOT, &m);
    fixture_turn(f);
    fixture_pass(f, 10 * SEC); /* that answered its call, and it calls again */
    Pb__JobIdRequest ask = PB__JOB_ID_REQUEST__INIT;
    ask.job_id = id;
    ask.has_notices_seen = true;
    ask.notices_seen = UINT64_MAX;
    control_job_wait_end(f->control, ++f->last_call, &FIXTURE_ROOT, &ask);
    fixture_turn(f);
    fixture_pass(f, 1000 * SEC);
    assert_job_runs(f, id);
    fixture_free(f);
}

static void unattended_jobs_are_kept(void **state)
{
    (void)state;
    struct fixture *f = make_world(LIMIT);
    uint32_t bare = request_allocation(f, (struct kind){.unattended = true});
    uint32_t roots = request_allocation(f, (struct kind){.partition = "r"});
    uint32_t batch = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    fixture_launched(f, "n1", batch, 0);
    fixture_pass(f, 1000 * SEC);
    assert_job_runs(f, bare);
    assert_job_runs(f, roots);
    assert_job_runs(f, batch);
    fixture_free(f);

    f = make_world(NODES); /* without a limit */
    uint32_t id = request_allocation(f, (struct kind){0});
    fixture_pass(f, 100000 * SEC);
    assert_job_runs(f, id);
    fixture_reconfigure(f, LIMIT);
    fixture_pass(f, LATEST);
    has_ended(f, id);
    fixture_free(f);
}

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n1 CPUs=1 RealMemory=4000\n"                    \
    "PartitionName=a Nodes=ALL Default=YES\n"

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 1);
}

static int64_t submit_job(struct fixture *f, int64_t deadline_sec, int64_t limit_sec,
                          int64_t min_sec)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_deadline_at_sec = deadline_sec != 0;
    s.deadline_at_sec = f->wall_ms / 1000 + deadline_sec;
    s.has_time_limit_sec = limit_sec > 0;
    s.time_limit_sec = limit_sec;
    s.has_time_min_sec = min_sec > 0;
    s.time_min_sec = min_sec;
    return fixture_submit(f, &user, &s);
}

static void impossible_deadlines_are_refused(void **state)
{
    struct fixture *f = make_fixture();

    (void)state;
    assert_int_equal(submit_job(f, 60, 61, 0), -ERR_DEADLINE);
    assert_int_equal(submit_job(f, 60, 120, 61), -ERR_DEADLINE);
    assert_int_equal(submit_job(f, -1, 0, 0), -ERR_DEADLINE);
    assert_true(submit_job(f, 60, 60, 0) > 0);
    assert_true(submit_job(f, 60, 120, 60) > 0);
    fixture_free(f);
}

/* A long job occupies the only node. */
static void job_that_misses_its_deadline_is_cancelled(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    assert_int_equal(submit_job(f, 0, 7200, 0), 1);
    assert_int_equal(submit_job(f, 1000, 300, 0), 2);
    assert_int_equal(submit_job(f, 1000, 300, 100), 3);
    assert_int_equal(submit_job(f, 1000, 0, 0), 4); /* any run time is useful */
    fixture_pass(f, 699 * 1000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__PENDING);
    fixture_pass(f, 3000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__DEADLINE);
    assert_string_equal(fixture_job(f, &arena, 2)->live->reason, "DeadLine");
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__PENDING);
    fixture_restart(f);
    fixture_pass(f, 200 * 1000);
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__DEADLINE);
    assert_int_equal(fixture_state(f, 4), PB__JOB_STATE__PENDING);
    fixture_pass(f, 120 * 1000);
    assert_int_equal(fixture_state(f, 4), PB__JOB_STATE__DEADLINE);
    fixture_free(f);
}

static void time_limit_is_cut_at_the_deadline(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    assert_int_equal(submit_job(f, 100, 300, 50), 1);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_job(f, &arena, 1)->live->time_limit_sec, 100);
    fixture_launched(f, "n1", 1, 0);
    fixture_pass(f, 99 * 1000);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 3000);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

/* Its time begins when PrologSlurmctld has ended: less than before, or none. */
static void deadline_is_checked_after_the_prolog(void **state)
{
    _cleanup_arena_ struct arena arena;
    struct fixture *f = fixture_new(CONF "PrologSlurmctld=/p\n");

    (void)state;
    arena_init(&arena, 0);
    fixture_register(f, "n1", "i1");
    assert_int_equal(submit_job(f, 100, 100, 0), 1);
    fixture_pass(f, 40 * 1000);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, 1, 0);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_job(f, &arena, 1)->live->time_limit_sec, 60);
    fixture_batch_ended(f, "n1", 1, 0, 0);
    fixture_gone(f, "n1", 1, 0);
    assert_int_equal(submit_job(f, 20, 10, 0), 2);
    fixture_pass(f, 20 * 1000);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, 2, 0);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__DEADLINE);
    assert_string_equal(fixture_job(f, &arena, 2)->live->reason, "DeadLine");
    assert_int_equal(submit_job(f, 0, 10, 0), 3);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, 3, 0);
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* It would be cancelled again at once, so the request is not reported as successful. */
static void job_past_its_deadline_is_not_requeued(void **state)
{
    struct fixture *f = make_fixture();
    Pb__JobUpdate again = PB__JOB_UPDATE__INIT;
    struct caller user = FIXTURE_USER;

    (void)state;
    assert_int_equal(submit_job(f, 0, 7200, 0), 1);
    assert_int_equal(submit_job(f, 60, 60, 0), 2);
    fixture_pass(f, 3000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__DEADLINE);
    again.job_id = 2;
    again.has_requeue = again.requeue = again.has_hold = again.hold = true;
    assert_int_equal(fixture_update_job(f, &user, &again), ERR_DEADLINE);
    fixture_restart(f);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__DEADLINE);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest list[] = {cmocka_unit_test(allocation_ends_when_its_client_leaves),
                                      cmocka_unit_test(allocation_ends_if_its_client_never_calls),
                                      cmocka_unit_test(client_timeout_counts_from_a_restart),
                                      cmocka_unit_test(notice_does_not_end_the_allocation),
                                      cmocka_unit_test(unattended_jobs_are_kept),
                                      cmocka_unit_test(impossible_deadlines_are_refused),
                                      cmocka_unit_test(job_that_misses_its_deadline_is_cancelled),
                                      cmocka_unit_test(time_limit_is_cut_at_the_deadline),
                                      cmocka_unit_test(deadline_is_checked_after_the_prolog),
                                      cmocka_unit_test(job_past_its_deadline_is_not_requeued)};
    return cmocka_run_group_tests(list, NULL, NULL);
}
