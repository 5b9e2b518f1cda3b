/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credentials that a node rejects for their time: its clock is wrong, or they arrived late. Limits
 * while the controller's clock is set, and silence of nodes while the controller was suspended. */
#include <string.h>

#include "control/fixture.h"

#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500\n"

static struct fixture *make_fixture(void)
{
    return fixture_new_up(NODES, 2);
}

static void refuse_launch(struct fixture *f, uint32_t id, int code, int64_t age_ms)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__Launched m = PB__LAUNCHED__INIT;

    m.job_id = id;
    m.code = code;
    m.text = (char *)"too old";
    m.has_issued_at_ms = true;
    m.issued_at_ms = f->wall_ms - age_ms;
    e.launched = &m;
    fixture_event(f, "n1", &e);
}

static void a_wrong_clock_drains_and_the_job_runs_elsewhere(void **state)
{
    static const struct {
        int code;
        int64_t age_ms;
    } rows[] = {{ERR_CREDENTIAL_EXPIRED, 0},
                {ERR_CREDENTIAL_EXPIRED, 119999},
                {ERR_SKEW, 0},
                {ERR_SKEW, 500000}};
    struct caller user = FIXTURE_USER;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_arena_ struct arena arena;
        struct fixture *f = make_fixture();
        uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);

        arena_init(&arena, 0);
        assert_int_equal(fixture_launches(f, "n1", id), 1);
        refuse_launch(f, id, rows[i].code, rows[i].age_ms);
        fixture_gone(f, "n1", id, 0);
        const Pb__NodeRecord *n = fixture_node(f, &arena, "n1");
        assert_true(n->drain);
        assert_string_equal(n->reason, "Clock skew: too old, job 1");
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
        assert_int_equal(fixture_job(f, &arena, id)->live->restarts, 1);
        assert_int_equal(fixture_launches(f, "n2", id), 1);
        fixture_free(f);
    }
}

static void late_launch_is_sent_again(void **state)
{
    _cleanup_arena_ struct arena arena;
    struct caller user = FIXTURE_USER;
    struct fixture *f = make_fixture();
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);

    arena_init(&arena, 0);
    fixture_clear(f);
    refuse_launch(f, id, ERR_CREDENTIAL_EXPIRED, 120000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_job(f, &arena, id)->live->restarts, 0);
    assert_false(fixture_node(f, &arena, "n1")->drain);
    fixture_pass(f, 11000); /* BatchStartTimeout */
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_free(f);
}

static void unrequeueable_job_fails_on_a_wrong_clock(void **state)
{
    struct caller user = FIXTURE_USER;
    struct fixture *f = make_fixture();
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.has_requeue = true;
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    refuse_launch(f, id, ERR_SKEW, 0);
    fixture_gone(f, "n1", id, 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__FAILED);
    fixture_free(f);
}

/* Across a boot only the wall clock counts; after that it may be set. */
static void time_limit_follows_the_clock_of_this_boot(void **state)
{
    struct caller user = FIXTURE_USER;
    struct fixture *f = fixture_new("SlurmdTimeout=0\n" NODES);
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    fixture_register(f, "n1", "i1");
    s.has_time_limit_sec = true;
    s.time_limit_sec = 600;
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    fixture_launched(f, "n1", id, 0);
    fixture_pass(f, 100000);
    f->boot++;
    f->mono_ms = 5000;
    fixture_restart(f);
    f->wall_ms += 3600000;
    fixture_restart(f);
    fixture_pass(f, 498000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 3000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

/* Suspended (SIGSTOP, a suspended machine): time passes without calls. */
static void sleep_for(struct fixture *f, int64_t ms)
{
    f->mono_ms += ms;
    f->wall_ms += ms;
}

static void expect_nodes(struct fixture *f, int n1, int n2)
{
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    assert_int_equal(fixture_node(f, &arena, "n1")->state, n1);
    assert_int_equal(fixture_node(f, &arena, "n2")->state, n2);
}

/* Whatever comes first after the suspension: the timer or a node. */
static void suspended_controller_counts_no_silence_of_nodes(void **state)
{
    for (int node_first = 0; node_first < 2; node_first++) {
        struct caller user = FIXTURE_USER;
        struct fixture *f = fixture_new_up("SlurmdTimeout=30\n" NODES, 2);
        uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);

        fixture_launched(f, "n1", id, 0);
        sleep_for(f, 100000);
        if (node_first)
            fixture_register(f, "n2", "i1");
        fixture_pass(f, 1000);
        assert_int_equal(f->closed.len, 0);
        expect_nodes(f, PB__NODE_BASE__NODE_MIXED, PB__NODE_BASE__NODE_IDLE);
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
        fixture_pass(f, 20000);
        fixture_register(f, "n2", "i1");
        fixture_pass(f, 10000); /* a node that does not respond from now on is lost */
        expect_nodes(f, PB__NODE_BASE__NODE_DOWN, PB__NODE_BASE__NODE_MIXED);
        fixture_free(f);
    }
}

/* A suspension too short to be detected: the messages of nodes are in their sockets. */
static void long_suspension_of_the_controller_loses_no_node(void **state)
{
    static const int64_t late_ms[] = {0, 1, 400, 500, 1000, 1999};
    for (size_t i = 0; i < sizeof late_ms / sizeof late_ms[0]; i++) {
        struct caller user = FIXTURE_USER;
        struct fixture *f = fixture_new_up("SlurmdTimeout=30\n" NODES, 2);
        uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);

        fixture_launched(f, "n1", id, 0);
        sleep_for(f, 30000 + late_ms[i]);
        control_tick(f->control);
        fixture_turn(f);
        if (i % 2) { /* and again before it has read them */
            sleep_for(f, 1000 + late_ms[i] % 500);
            control_tick(f->control);
            fixture_turn(f);
        }
        fixture_register_job(f, "n1", id, true);
        fixture_pass(f, 2000);
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
        expect_nodes(f, PB__NODE_BASE__NODE_MIXED, PB__NODE_BASE__NODE_DOWN);
        fixture_pass(f, 30000);
        expect_nodes(f, PB__NODE_BASE__NODE_DOWN, PB__NODE_BASE__NODE_DOWN);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_clock_drains_and_the_job_runs_elsewhere),
        cmocka_unit_test(late_launch_is_sent_again),
        cmocka_unit_test(unrequeueable_job_fails_on_a_wrong_clock),
        cmocka_unit_test(time_limit_follows_the_clock_of_this_boot),
        cmocka_unit_test(suspended_controller_counts_no_silence_of_nodes),
        cmocka_unit_test(long_suspension_of_the_controller_loses_no_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
