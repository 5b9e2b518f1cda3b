/* SPDX-License-Identifier: GPL-3.0-or-later */
/* InactiveLimit: which allocations end when no client is connected, and when. */
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

static uint32_t allocate(struct fixture *f, struct kind kind)
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

static struct fixture *world(const char *lines)
{
    return fixture_new_up(lines, 1);
}

/* Connects like salloc and srun; returns the call. */
static uint64_t stay(struct fixture *f, uint32_t id)
{
    Pb__JobIdRequest m = PB__JOB_ID_REQUEST__INIT;
    m.job_id = id;
    m.has_notices_seen = m.has_of_job = m.of_job = true;
    control_job_wait_end(f->control, ++f->last_call, &FIXTURE_ROOT, &m);
    fixture_turn(f);
    return f->last_call;
}

static void leave(struct fixture *f, uint64_t call)
{
    control_call_gone(f->control, call);
    fixture_turn(f);
}

static void runs(struct fixture *f, uint32_t id)
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

static void it_ends_when_nobody_stays(void **state)
{
    (void)state;
    struct fixture *f = world(LIMIT);
    uint32_t id = allocate(f, (struct kind){0});
    uint64_t first = stay(f, id), second = stay(f, id);
    fixture_pass(f, 1000 * SEC);
    leave(f, first);
    fixture_pass(f, 1000 * SEC);
    runs(f, id); /* one client is connected */
    leave(f, second);
    fixture_pass(f, 59 * SEC);
    uint64_t third = stay(f, id); /* and reconnected in time */
    fixture_pass(f, 1000 * SEC);
    runs(f, id);
    leave(f, third);
    fixture_pass(f, 59 * SEC);
    runs(f, id);
    fixture_pass(f, 7 * SEC);
    has_ended(f, id);
    fixture_free(f);
}

static void one_that_never_came(void **state)
{
    (void)state;
    struct fixture *f = world(LIMIT);
    uint32_t id = allocate(f, (struct kind){0});
    fixture_pass(f, LATEST);
    has_ended(f, id);
    fixture_free(f);
}

/* A client calls again after the restart: the time counts from the restart. */
static void after_a_restart(void **state)
{
    (void)state;
    struct fixture *f = world(LIMIT);
    uint32_t id = allocate(f, (struct kind){0}), other = allocate(f, (struct kind){0});
    stay(f, id);
    stay(f, other);
    fixture_pass(f, 1000 * SEC);
    fixture_restart(f);
    fixture_pass(f, 59 * SEC);
    stay(f, other);
    runs(f, id);
    fixture_reconfigure(f, LIMIT);
    fixture_pass(f, 7 * SEC);
    has_ended(f, id);
    fixture_pass(f, 1000 * SEC);
    runs(f, other);
    fixture_free(f);
}

static void a_message_is_no_leave(void **state)
{
    Pb__JobNotify m = PB__JOB_NOTIFY__INIT;
    Pb__StepId target = PB__STEP_ID__INIT;
    (void)state;
    struct fixture *f = world(LIMIT);
    uint32_t id = allocate(f, (struct kind){0});
    stay(f, id);
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
    runs(f, id);
    fixture_free(f);
}

static void who_is_left_alone(void **state)
{
    (void)state;
    struct fixture *f = world(LIMIT);
    uint32_t bare = allocate(f, (struct kind){.unattended = true});
    uint32_t roots = allocate(f, (struct kind){.partition = "r"});
    uint32_t batch = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    fixture_launched(f, "n1", batch, 0);
    fixture_pass(f, 1000 * SEC);
    runs(f, bare);
    runs(f, roots);
    runs(f, batch);
    fixture_free(f);

    f = world(NODES); /* without a limit */
    uint32_t id = allocate(f, (struct kind){0});
    fixture_pass(f, 100000 * SEC);
    runs(f, id);
    fixture_reconfigure(f, LIMIT);
    fixture_pass(f, LATEST);
    has_ended(f, id);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(it_ends_when_nobody_stays), cmocka_unit_test(one_that_never_came),
        cmocka_unit_test(after_a_restart),           cmocka_unit_test(a_message_is_no_leave),
        cmocka_unit_test(who_is_left_alone),
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}
