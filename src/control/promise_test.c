/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings of the simulator: clocks that are set, restarts at bad moments, nodes that are lost and
 * return. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define NODES "NodeName=n[1-3] CPUs=2 RealMemory=1000\n"
#define PART "PartitionName=a Nodes=ALL Default=YES\n"
#define CONF "SelectTypeParameters=CR_Core_Memory\nOverTimeLimit=1\n" NODES PART

static struct fixture *make_fixture(const char *lines, int nodes)
{
    static const char *const names[] = {"n1", "n2", "n3"};
    struct fixture *f = fixture_new(lines);
    for (int i = 0; i < nodes; i++)
        fixture_register(f, names[i], "i1");
    return f;
}

static uint32_t run_one(struct fixture *f, uint32_t nodes, int64_t limit_sec)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_cpus_per_task = s.has_time_limit_sec = true;
    s.min_nodes = nodes;
    s.cpus_per_task = 2;
    s.time_limit_sec = limit_sec;
    int64_t id = fixture_submit(f, &user, &s);
    assert_true(id > 0);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    return (uint32_t)id;
}

static void write_conf(struct fixture *f, const char *lines)
{
    FILE *file = fopen(f->path, "w");
    assert_non_null(file);
    fprintf(file, "ClusterName=test\nSlurmctldHost=h\nSelectType=select/cons_tres\n%s\n", lines);
    fclose(file);
}

static const Pb__JobLive *get_live(struct fixture *f, struct arena *arena, uint32_t id)
{
    const Pb__JobRecord *r = fixture_job(f, arena, id);
    assert_non_null(r);
    return r->live;
}

/* --- clocks -------------------------------------------------------------------------------------
 */

static void time_limits_follow_the_monotonic_clock(void **state)
{
    static const int64_t steps_ms[] = {3600000, -3600000, INT64_C(4291747200000), -1000000000000};
    for (size_t i = 0; i < 4; i++) {
        struct fixture *f = make_fixture("NodeName=n1 CPUs=2 RealMemory=1000\n" PART, 1);
        uint32_t id = run_one(f, 1, 100);
        fixture_launched(f, "n1", id, 0);
        fixture_pass(f, 40000);
        f->wall_ms += steps_ms[i];
        fixture_restart(f);
        fixture_pass(f, 59000);
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
        fixture_pass(f, 2000);
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__TIMEOUT);
        fixture_free(f);
    }
}

static void time_limits_follow_the_wall_clock_across_a_boot(void **state)
{
    struct fixture *f = make_fixture("NodeName=n1 CPUs=2 RealMemory=1000\n" PART, 1);
    uint32_t id = run_one(f, 1, 100);
    fixture_launched(f, "n1", id, 0);
    f->boot++;
    f->mono_ms = 5000;
    f->wall_ms += 60000;
    fixture_restart(f);
    fixture_pass(f, 38000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 4000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

static void restart_grants_no_additional_over_time(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    uint32_t id = run_one(f, 1, 10);
    fixture_launched(f, "n1", id, 0);
    fixture_pass(f, 50000);
    fixture_restart(f);
    fixture_pass(f, 19000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 2000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

static void begin_time_is_checked_again_after_the_clock_is_set(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_begin_at_sec = true;
    s.begin_at_sec = f->wall_ms / 1000 + 3600;
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    f->wall_ms += 3600000;
    fixture_pass(f, 61000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void begin_time_applies_to_a_requeued_job(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets[] = {&target};
    Pb__JobSignal cancel = PB__JOB_SIGNAL__INIT;
    Pb__JobUpdate again = PB__JOB_UPDATE__INIT;
    s.has_begin_at_sec = true;
    s.begin_at_sec = f->wall_ms / 1000 + 100;
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    target.job_id = again.job_id = id;
    cancel.target = targets;
    cancel.n_target = 1;
    control_job_signal(f->control, 600, &user, &cancel);
    fixture_turn(f);
    again.has_requeue = again.requeue = true;
    assert_int_equal(fixture_update_job(f, &user, &again), 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    fixture_pass(f, 101000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void pass_limit(struct fixture *f, uint32_t id)
{
    fixture_pass(f, 11000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__TIMEOUT);
}

static void cancel_job(struct fixture *f, uint32_t id)
{
    struct caller user = FIXTURE_USER;
    assert_int_equal(fixture_cancel(f, &user, id, NULL, 0), 0);
}

static size_t count_ends(const struct fixture *f, uint32_t id, const char *why)
{
    size_t found = 0;
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++) {
            const Pb__Terminate *t = (*o)->orders->orders[i]->terminate;
            if (t && t->job_id == id) {
                assert_string_equal(t->why, why);
                found++;
            }
        }
    return found;
}

/* To an unresponsive node, to a returning node, and by the next controller. */
static void repeated_end_orders_carry_the_reason(void **state)
{
    static const struct {
        const char *why;
        void (*end)(struct fixture *f, uint32_t id);
    } rows[] = {{"TIME LIMIT", pass_limit}, {"CANCELLED", cancel_job}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture *f = make_fixture("NodeName=n1 CPUs=2 RealMemory=1000\n" PART, 1);
        uint32_t id = run_one(f, 1, 10);
        fixture_launched(f, "n1", id, 0);
        fixture_clear(f);
        rows[i].end(f, id);
        assert_int_equal(count_ends(f, id, rows[i].why), 1);
        fixture_pass(f, 100000);
        assert_true(count_ends(f, id, rows[i].why) > 1);
        fixture_clear(f);
        fixture_register(f, "n1", "i1");
        fixture_turn(f);
        assert_int_equal(count_ends(f, id, rows[i].why), 1);
        fixture_clear(f);
        fixture_restart(f);
        fixture_register(f, "n1", "i1");
        fixture_pass(f, 100000);
        assert_true(count_ends(f, id, rows[i].why) > 1);
        fixture_free(f);
    }
}

/* --- nodes --------------------------------------------------------------------------------------
 */

static void job_on_a_node_set_down_is_ended_first(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    uint32_t id = run_one(f, 1, 100);
    fixture_launched(f, "n1", id, 0);
    fixture_clear(f);
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "test"), 0);
    assert_int_equal(fixture_terminates(f, "n1", id), 1);
    assert_int_equal(fixture_update_node(f, "n1", "RESUME", NULL), 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    fixture_gone(f, "n1", id, 0);
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_free(f);
}

/* The end of the script reports that nothing is left, before the order to end it. */
static void job_end_that_crosses_its_order_frees_the_node(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    uint32_t id = run_one(f, 1, 100);
    fixture_launched(f, "n1", id, 0);
    fixture_update_node(f, "n1", "DOWN", "test");
    fixture_update_node(f, "n1", "RESUME", NULL);
    fixture_clear(f);
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__BatchEnded m = PB__BATCH_ENDED__INIT;
    m.job_id = id;
    m.has_gone = m.gone = true;
    e.batch_ended = &m;
    fixture_event(f, "n1", &e);
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_free(f);
}

static size_t count_closed_sessions(const struct fixture *f, const char *node)
{
    size_t n = 0;
    vec_foreach (&f->closed, name)
        n += str_eq(*name, node);
    return n;
}

/* Otherwise a launch in progress would begin after its job runs elsewhere. */
static void pending_launch_to_a_lost_node_cannot_begin(void **state)
{
    struct fixture *f = make_fixture("ReturnToService=2\nSlurmdTimeout=10\n" CONF, 1);
    uint32_t id = run_one(f, 1, 100);
    fixture_pass(f, 9000);
    assert_int_equal(count_closed_sessions(f, "n1"), 0);
    fixture_clear(f);
    fixture_pass(f, 2000);
    assert_int_equal(count_closed_sessions(f, "n1"), 1);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    assert_int_equal(fixture_terminates(f, "n1", id), 0); /* the node is not connected */
    fixture_clear(f);
    fixture_register(f, "n1", "i1");
    assert_int_equal(fixture_terminates(f, "n1", id), 1);
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    fixture_gone(f, "n1", id, 0);
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_free(f);
}

/* A disconnected node has no session to close. */
static void disconnected_node_has_no_session_to_close(void **state)
{
    struct fixture *f = make_fixture("SlurmdTimeout=10\n" CONF, 1);
    control_node_lost(f->control, "n1");
    fixture_clear(f);
    fixture_pass(f, 11000);
    assert_int_equal(count_closed_sessions(f, "n1"), 0);
    fixture_free(f);
}

/* The job was given up while the node was disconnected; a srun with a valid credential may still
 * launch it. */
static void returning_node_is_told_which_jobs_it_lost(void **state)
{
    for (int restarted = 0; restarted < 2; restarted++) {
        struct fixture *f = make_fixture("ReturnToService=2\n" CONF, 1);
        uint32_t id = run_one(f, 1, 100);
        fixture_launched(f, "n1", id, 0);
        control_node_lost(f->control, "n1");
        assert_int_equal(fixture_update_node(f, "n1", "DOWN", "test"), 0);
        assert_int_equal(fixture_update_node(f, "n1", "RESUME", NULL), 0);
        fixture_clear(f);
        if (restarted)
            fixture_restart(f);
        for (int twice = 0; twice < 2; twice++) { /* it becomes unresponsive and registers again */
            fixture_register(f, "n1", "i1");
            assert_int_equal(fixture_terminates(f, "n1", id), 1 + twice);
            assert_int_equal(fixture_launches(f, "n1", id), 0);
        }
        fixture_gone(f, "n1", id, 0);
        assert_int_equal(fixture_launches(f, "n1", id), 1);
        fixture_clear(f);
        fixture_restart(f);
        fixture_register(f, "n1", "i1");
        vec_foreach (&f->orders, o) /* finished orders are not repeated */
            assert_null((*o)->orders->orders[0]->terminate);
        fixture_free(f);
    }
}

/* The node reports that it lacks an attempt that it has begun: whatever the reason, it must not
 * begin the attempt again. */
static void attempt_unknown_to_its_node_is_ended_there(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    uint32_t id = run_one(f, 1, 100);
    fixture_launched(f, "n1", id, 0);
    fixture_clear(f);
    fixture_register(f, "n1", "i1");
    assert_int_equal(fixture_terminates(f, "n1", id), 1);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    fixture_gone(f, "n1", id, 0);
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_free(f);
}

/* A rebooted machine does not know which attempts have ended, so the credential names the
 * incarnation of the node. */
static void credential_names_the_incarnation_of_the_node(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = run_one(f, 1, 100);
    const Pb__LaunchBatch *launch = vec_last(&f->orders)->orders->orders[0]->launch;
    assert_non_null(launch);
    const Pb__Cred *cred =
        arena_unpack(&arena, &pb__cred__descriptor, launch->cred.data, launch->cred.len);
    assert_true(cred->n_nodes == 1 && cred->nodes[0]->incarnation == str_hash("i1"));
    Pb__StepSpec spec = PB__STEP_SPEC__INIT;
    spec.has_job_id = true;
    spec.job_id = id;
    control_step_create(f->control, 4000, &user, &spec);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 4000), 0);
    const struct fixture_reply *r = &vec_last(&f->replies);
    const Pb__StepReply *step =
        arena_unpack(&arena, &pb__step_reply__descriptor, r->data.data, r->data.len);
    cred = arena_unpack(&arena, &pb__cred__descriptor, step->cred.data, step->cred.len);
    assert_true(cred->n_nodes == 1 && cred->nodes[0]->incarnation == str_hash("i1"));
    fixture_free(f);
}

static void node_removed_and_added_again_keeps_its_state(void **state)
{
    struct fixture *f = make_fixture(CONF, 3);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(fixture_update_node(f, "n2", "DRAIN", "broken fan"), 0);
    fixture_reconfigure(f, "NodeName=n1,n3 CPUs=2 RealMemory=1000\n" PART);
    fixture_reconfigure(f, CONF);
    const Pb__NodeRecord *n = fixture_node(f, &arena, "n2");
    assert_true(n->has_drain && n->drain);
    assert_string_equal(n->reason, "broken fan");
    write_conf(f, "NodeName=n1,n3 CPUs=2 RealMemory=1000\n" PART);
    fixture_restart(f);
    fixture_reconfigure(f, CONF);
    n = fixture_node(f, &arena, "n2");
    assert_true(n->has_drain && n->drain);
    fixture_free(f);
}

static void restart_without_a_node_of_a_job_starts_nothing_twice(void **state)
{
    struct fixture *f = make_fixture(CONF, 3);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = run_one(f, 3, 100), alone;
    struct caller user = FIXTURE_USER;
    alone = (uint32_t)fixture_submit(f, &user, NULL);
    write_conf(f, "NodeName=n[2-3] CPUs=2 RealMemory=1000\n" PART);
    fixture_restart(f);
    fixture_register(f, "n2", "i1");
    fixture_register(f, "n3", "i1");
    fixture_pass(f, 20000);
    fixture_gone(f, "n2", id, 0);
    fixture_gone(f, "n3", id, 0);
    assert_int_equal(get_live(f, &arena, id)->restarts, 1);
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++) {
            const Pb__LaunchBatch *launch = (*o)->orders->orders[i]->launch;
            assert_true(!launch || launch->job_id == alone || launch->restarts == 1);
        }
    fixture_free(f);
}

static void restart_without_its_only_node_requeues_a_job(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    uint32_t id = run_one(f, 1, 100);
    write_conf(f, "NodeName=n2 CPUs=2 RealMemory=1000\n" PART);
    fixture_restart(f);
    fixture_pass(f, 20000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

static void created_partition_without_its_nodes_is_restored(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    Pb__PartUpdate r = PB__PART_UPDATE__INIT;
    struct caller root = FIXTURE_ROOT;
    set.name = (char *)"made";
    set.nodes = (char *)"n3";
    r.set = &set;
    r.has_create = r.create = true;
    control_part_update(f->control, 900, &root, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 900), 0);
    fixture_reconfigure(f, "NodeName=n1 CPUs=2 RealMemory=1000\n" PART);
    fixture_restart(f);
    fixture_free(f);
}

/* The script of a lost attempt continues on a disconnected node; its reports must not affect the
 * next attempt. */
static void reports_of_an_earlier_attempt_are_ignored(void **state)
{
    struct fixture *f = make_fixture(CONF, 1);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = run_one(f, 1, 100);
    Pb__JobUpdate again = PB__JOB_UPDATE__INIT;
    Pb__StepSpec spec = PB__STEP_SPEC__INIT;
    Pb__StepComplete end = PB__STEP_COMPLETE__INIT;
    Pb__JobComplete all = PB__JOB_COMPLETE__INIT;
    again.job_id = spec.job_id = end.job_id = all.job_id = id;
    again.has_requeue = again.requeue = spec.has_job_id = true;
    assert_int_equal(fixture_update_job(f, &user, &again), 0);
    fixture_gone(f, "n1", id, 0);
    assert_int_equal(get_live(f, &arena, id)->restarts, 1);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    spec.has_restarts = end.has_restarts = all.has_restarts = true;
    static const struct {
        uint32_t restarts;
        int code;
    } tries[] = {{0, ERR_JOB_DONE}, {2, ERR_JOB_DONE}, {UINT32_MAX, ERR_JOB_DONE}, {1, 0}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        spec.restarts = end.restarts = all.restarts = tries[i].restarts;
        control_step_create(f->control, ++f->last_call, &user, &spec);
        assert_int_equal(fixture_code(f, f->last_call), tries[i].code);
    }
    const Pb__StepReply *made = NULL;
    vec_foreach (&f->replies, r)
        if (r->call == f->last_call)
            made = arena_unpack(&arena, &pb__step_reply__descriptor, r->data.data, r->data.len);
    assert_non_null(made);
    assert_true(made->has_restarts && made->restarts == 1);
    /* An end reported by the previous attempt has no effect: the resources of the present attempt
     * are not freed. */
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        Pb__StepSpec more = spec;
        more.restarts = 1;
        more.has_immediate = more.immediate = true;
        control_step_create(f->control, ++f->last_call, &user, &more);
        assert_int_equal(fixture_code(f, f->last_call), ERR_NODES_BUSY);
        end.step_id = made->step_id;
        end.restarts = all.restarts = tries[i].restarts;
        control_job_complete(f->control, ++f->last_call, &user, &all);
        assert_int_equal(fixture_code(f, f->last_call), tries[i].code);
        control_step_complete(f->control, ++f->last_call, &user, &end);
        assert_int_equal(fixture_code(f, f->last_call), tries[i].code);
    }
    spec.restarts = 1;
    spec.has_immediate = spec.immediate = true;
    control_step_create(f->control, ++f->last_call, &user, &spec);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    end.has_restarts = false; /* of a command that does not set it */
    end.step_id = made->step_id + 1;
    control_step_complete(f->control, ++f->last_call, &user, &end);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    fixture_free(f);
}

/* --- waiting clients ----------------------------------------------------------------------------
 */

/* srun and salloc want notices and are told at once that a job was ended; sbatch --wait is answered
 * when nothing can write to the job's output. */
static void waiting_clients_are_told_the_end_once(void **state)
{
    struct fixture *f = make_fixture(CONF "Epilog=/bin/true\n", 2);
    struct caller user = FIXTURE_USER;
    uint32_t id = run_one(f, 2, 100);
    Pb__JobIdRequest wait = PB__JOB_ID_REQUEST__INIT;
    wait.job_id = id;
    fixture_launched(f, "n1", id, 0);
    control_job_wait_end(f->control, 800, &user, &wait);
    fixture_turn(f);
    fixture_register(f, "n1", "i2"); /* it was rebooted: the job is requeued when n2 is clean */
    assert_int_equal(fixture_code(f, 800), -1);

    Pb__StepId target = PB__STEP_ID__INIT, *targets[] = {&target};
    Pb__JobSignal cancel = PB__JOB_SIGNAL__INIT;
    target.job_id = id;
    cancel.target = targets;
    cancel.n_target = 1;
    fixture_restart(f);
    Pb__JobIdRequest listen = wait;
    listen.has_notices_seen = true;
    control_job_wait_end(f->control, 801, &user, &listen);
    control_job_signal(f->control, 802, &user, &cancel);
    control_job_wait_end(f->control, 803, &user, &wait);
    control_job_wait_end(f->control, 804, &user, &listen); /* it has ended by now */
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 801), 0);
    assert_int_equal(fixture_code(f, 802), 0);
    assert_int_equal(fixture_code(f, 803), -1);
    assert_int_equal(fixture_code(f, 804), 0);
    fixture_restart(f);
    control_job_wait_end(f->control, 805, &user, &wait);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 805), -1);
    fixture_register(f, "n2", "i1");
    fixture_gone(f, "n2", id, 0);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 805), 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__NODE_FAIL);
    fixture_free(f);
}

static void repeated_request_answers_the_first_one(void **state)
{
    struct fixture *f = make_fixture(CONF, 0);
    struct caller user = FIXTURE_USER;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__AllocWait w = PB__ALLOC_WAIT__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    uint8_t id[16] = "once";
    spec.has_request_id = true;
    spec.request_id = (ProtobufCBinaryData){sizeof id, id};
    r.spec = &spec;
    control_alloc(f->control, 700, &user, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 700), 0);
    w.job_id = 1;
    control_alloc_wait(f->control, 701, &user, &w);
    control_alloc_wait(f->control, 702, &user, &w);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 701), ERR_CLOSED);
    assert_int_equal(fixture_code(f, 702), -1);
    fixture_register(f, "n1", "i1");
    assert_int_equal(fixture_code(f, 702), 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_limits_follow_the_monotonic_clock),
        cmocka_unit_test(time_limits_follow_the_wall_clock_across_a_boot),
        cmocka_unit_test(restart_grants_no_additional_over_time),
        cmocka_unit_test(repeated_end_orders_carry_the_reason),
        cmocka_unit_test(begin_time_is_checked_again_after_the_clock_is_set),
        cmocka_unit_test(begin_time_applies_to_a_requeued_job),
        cmocka_unit_test(job_on_a_node_set_down_is_ended_first),
        cmocka_unit_test(job_end_that_crosses_its_order_frees_the_node),
        cmocka_unit_test(pending_launch_to_a_lost_node_cannot_begin),
        cmocka_unit_test(disconnected_node_has_no_session_to_close),
        cmocka_unit_test(returning_node_is_told_which_jobs_it_lost),
        cmocka_unit_test(reports_of_an_earlier_attempt_are_ignored),
        cmocka_unit_test(attempt_unknown_to_its_node_is_ended_there),
        cmocka_unit_test(credential_names_the_incarnation_of_the_node),
        cmocka_unit_test(node_removed_and_added_again_keeps_its_state),
        cmocka_unit_test(restart_without_a_node_of_a_job_starts_nothing_twice),
        cmocka_unit_test(restart_without_its_only_node_requeues_a_job),
        cmocka_unit_test(created_partition_without_its_nodes_is_restored),
        cmocka_unit_test(waiting_clients_are_told_the_end_once),
        cmocka_unit_test(repeated_request_answers_the_first_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
