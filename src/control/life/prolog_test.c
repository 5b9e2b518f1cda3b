/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failing prologs and epilogs, and prologs at allocation (PrologFlags=Alloc). */
#include <string.h>

#include "control/fixture.h"
#include "control/life/depend.h"

#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-4] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500\n"

static struct fixture *make_fixture(const char *lines)
{
    return fixture_new_up(lines, 4);
}

static void fail_launch_by(struct fixture *f, uint32_t id, int code, const char *text, bool drain)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__Launched m = PB__LAUNCHED__INIT;
    m.job_id = id;
    m.code = code;
    m.text = (char *)text;
    m.has_drain = m.drain = drain;
    e.launched = &m;
    fixture_event(f, "n1", &e);
    fixture_gone(f, "n1", id, 0);
}

static void fail_launch(struct fixture *f, uint32_t id)
{
    fail_launch_by(f, id, ERR_LAUNCH, "Prolog /p exited with status 1", true);
}

static void fail_prolog(struct fixture *f, const char *node, uint32_t id, uint32_t restarts)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__PrologFailed m = PB__PROLOG_FAILED__INIT;
    m.job_id = id;
    m.restarts = restarts;
    m.text = (char *)"Prolog /p exited with status 1";
    e.prolog_failed = &m;
    fixture_event(f, node, &e);
}

static void hold_up(struct fixture *f, const char *node, uint32_t id, const char *text)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__HeldUp m = PB__HELD_UP__INIT;
    m.job_id = id;
    m.text = (char *)text;
    e.held_up = &m;
    fixture_event(f, node, &e);
}

static const char *get_held_reason(struct fixture *f, struct arena *arena, uint32_t id)
{
    return fixture_job(f, arena, id)->live->held_up;
}

/* Kept across a restart, and cleared when the same node reports it, or with the job's last node. */
static void hanging_prolog_is_reported(void **state)
{
    struct fixture *f = make_fixture(NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);
    hold_up(f, "n2", id, "Prolog /p waits"); /* not a node of the job */
    hold_up(f, "n1", id + 1, "Prolog /p waits");
    assert_null(get_held_reason(f, &arena, id));
    hold_up(f, "n1", id, NULL);
    hold_up(f, "n1", id, "Prolog /p runs");
    assert_string_equal(get_held_reason(f, &arena, id), "n1: Prolog /p runs");
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    hold_up(f, "n2", id, NULL);
    assert_string_equal(get_held_reason(f, &arena, id), "n1: Prolog /p runs");
    hold_up(f, "n1", id, NULL);
    assert_null(get_held_reason(f, &arena, id));
    hold_up(f, "n1", id, "Epilog /e runs");
    assert_int_equal(fixture_cancel(f, &user, id, NULL, 0), 0);
    assert_string_equal(get_held_reason(f, &arena, id), "n1: Epilog /e runs");
    fixture_gone(f, "n1", id, 0);
    assert_null(get_held_reason(f, &arena, id));
    fixture_free(f);
}

static void a_failing_prolog_drains_and_requeues_held(void **state)
{
    struct fixture *f = make_fixture(NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);
    fail_launch(f, id);
    const Pb__NodeRecord *n = fixture_node(f, &arena, "n1");
    assert_true(n->drain);
    assert_string_equal(n->reason, "Prolog error: Prolog /p exited with status 1, job 1");
    for (int i = 0; i < 2; i++) {
        const Pb__JobLive *live = fixture_job(f, &arena, id)->live;
        assert_int_equal(live->state, PB__JOB_STATE__PENDING);
        assert_int_equal(live->restarts, 1);
        assert_string_equal(live->reason, "JobHeldUser");
        assert_int_equal(fixture_launches(f, "n2", id), 0);
        fixture_restart(f);
        fixture_register(f, "n2", "i1");
    }
    Pb__JobUpdate release = PB__JOB_UPDATE__INIT;
    release.job_id = id;
    release.has_hold = true;
    assert_int_equal(fixture_update_job(f, &user, &release), 0); /* by its owner */
    assert_int_equal(fixture_launches(f, "n2", id), 1);
    fixture_free(f);
}

/* For example a full spool directory: every job would fail there, and this job is not the cause. */
static void a_node_at_fault_is_drained_and_the_job_runs_elsewhere(void **state)
{
    struct fixture *f = make_fixture(NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);
    fail_launch_by(f, id, ERR_NODE_FAULT, "cannot write /s: No space left on device", false);
    const Pb__NodeRecord *n = fixture_node(f, &arena, "n1");
    assert_true(n->drain);
    assert_string_equal(n->reason,
                        "Launch failure: cannot write /s: No space left on device, job 1");
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_launches(f, "n2", id), 1);
    fixture_free(f);
}

/* Space used by jobs: otherwise any user could have the node drained. */
static void job_waits_for_a_full_spool_directory(void **state)
{
    struct fixture *f = make_fixture(NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);
    fail_launch_by(f, id, ERR_SPOOL_FULL, "cannot write /s: No space left on device", false);
    assert_false(fixture_node(f, &arena, "n1")->drain);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    assert_string_equal(fixture_job(f, &arena, id)->live->reason, "BeginTime");
    fixture_free(f);
}

/* For example an inaccessible work directory: another node could not start the job either. */
static void unstartable_job_fails_without_draining_its_node(void **state)
{
    struct fixture *f = make_fixture(NODES);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    uint32_t id = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    fail_launch_by(f, id, ERR_CHDIR, "couldn't chdir to `/x'", false);
    assert_false(fixture_node(f, &arena, "n1")->drain);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__FAILED);
    fixture_free(f);
}

static void reason_of_the_hold_is_shown(void **state)
{
    struct fixture *f = make_fixture(NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);
    fail_launch(f, id);
    assert_string_equal(fixture_job(f, &arena, id)->live->reason_detail,
                        "launch failed requeued held: Prolog /p exited with status 1");
    fixture_free(f);
}

/* --get-user-env: the node is not the cause, and the job has not run. */
static void job_without_its_user_environment_is_held(void **state)
{
    struct fixture *f = make_fixture(NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);
    fail_launch_by(f, id, ERR_USER_ENV, "the shell took more than 2 seconds", false);
    assert_false(fixture_node(f, &arena, "n1")->drain);
    const Pb__JobLive *live = fixture_job(f, &arena, id)->live;
    assert_int_equal(live->state, PB__JOB_STATE__PENDING);
    assert_string_equal(live->reason, "JobHeldUser");
    assert_string_equal(live->reason_detail,
                        "launch failed requeued held: the shell took more than 2 seconds");
    fixture_free(f);
}

static void nohold_on_prolog_fail_requeues_without_a_hold(void **state)
{
    struct fixture *f = make_fixture(NODES "SchedulerParameters=nohold_on_prolog_fail\n");
    struct caller user = FIXTURE_USER;
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);
    fail_launch(f, id);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_launches(f, "n2", id), 1);
    fixture_free(f);
}

static void unrequeueable_job_fails_with_its_prolog(void **state)
{
    struct fixture *f = make_fixture(NODES);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_requeue = true;
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    fail_launch(f, id);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__FAILED);
    fixture_free(f);
}

/* PrologFlags=ForceRequeueOnFail: the job has not run. */
static void force_requeue_on_fail_requeues_every_job(void **state)
{
    struct fixture *f = make_fixture(NODES "PrologFlags=ForceRequeueOnFail\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_requeue = true;
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    fail_launch(f, id);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

static void failing_epilog_drains_the_node(void **state)
{
    struct fixture *f = make_fixture(NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = (uint32_t)fixture_submit(f, &user, NULL);
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__JobGone m = PB__JOB_GONE__INIT;
    fixture_batch_ended(f, "n1", id, 0, 0);
    m.job_id = id;
    m.has_epilog_status = true;
    m.epilog_status = 1 << 8;
    m.text = (char *)"Epilog /e exited with status 1";
    e.job_gone = &m;
    fixture_event(f, "n1", &e);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__COMPLETED);
    assert_string_equal(fixture_node(f, &arena, "n1")->reason,
                        "Epilog error: Epilog /e exited with status 1, job 1");
    fixture_free(f);
}

static size_t count_prepare_orders(const struct fixture *f, const char *node, uint32_t job)
{
    size_t count = 0;
    vec_foreach (&f->orders, o) {
        if (strcmp((*o)->node, node) != 0)
            continue;
        for (size_t i = 0; i < (*o)->orders->n_orders; i++)
            count +=
                (*o)->orders->orders[i]->prepare && (*o)->orders->orders[i]->prepare->job_id == job;
    }
    return count;
}

static int64_t submit_on_three(struct fixture *f)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = true;
    s.min_nodes = s.max_nodes = 3;
    s.name = (char *)"three";
    return fixture_submit(f, &user, &s);
}

static void nodes_are_not_prepared_without_prolog_and_flag(void **state)
{
    static const char *const lines[] = {NODES "Prolog=/p\n", NODES "PrologFlags=Alloc\n",
                                        NODES "Prolog=/p\nPrologFlags=DeferBatch\n"};
    for (size_t i = 0; i < 3; i++) {
        struct fixture *f = make_fixture(lines[i]);
        uint32_t id = (uint32_t)submit_on_three(f);
        assert_int_equal(fixture_launches(f, "n1", id), 1);
        assert_int_equal(count_prepare_orders(f, "n2", id) + count_prepare_orders(f, "n1", id), 0);
        fixture_free(f);
    }
}

static void nodes_are_prepared_at_allocation(void **state)
{
    struct fixture *f = make_fixture(NODES "Prolog=/p\nPrologFlags=Alloc\n");
    uint32_t id = (uint32_t)submit_on_three(f);
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    assert_int_equal(count_prepare_orders(f, "n1", id), 0); /* the launch does it */
    assert_int_equal(count_prepare_orders(f, "n2", id) + count_prepare_orders(f, "n3", id), 2);
    assert_int_equal(count_prepare_orders(f, "n4", id), 0);
    const Pb__JobFacts *facts = NULL;
    vec_foreach (&f->orders, o)
        if ((*o)->orders->orders[0]->prepare)
            facts = (*o)->orders->orders[0]->attempt->facts;
    assert_string_equal(facts->job_name, "three");
    assert_string_equal(facts->nodes, "n[1-3]");
    assert_string_equal(facts->cpus_per_node, "1(x3)");
    assert_string_equal(facts->partition, "a");
    fixture_clear(f);
    fixture_register(f, "n2", "i1"); /* the order was lost */
    assert_int_equal(count_prepare_orders(f, "n2", id), 1);
    fixture_batch_ended(f, "n1", id, 0, 0);
    assert_true(fixture_terminates(f, "n3", id) > 0); /* it may have run something */
    fixture_register(f, "n2", "i1");
    assert_int_equal(count_prepare_orders(f, "n2", id), 1);
    fixture_free(f);
}

static void check_told(const Pb__NodeOrder *order, bool is_old)
{
    const Pb__JobFacts *in_order = order->prepare ? order->prepare->facts : order->terminate->facts;
    assert_true((order->attempt == NULL) == is_old);
    assert_true((in_order != NULL) == is_old);
    assert_string_equal((is_old ? in_order : order->attempt->facts)->job_name, "three");
    if (order->prepare && is_old) {
        assert_int_equal(order->prepare->cpus, 1);
        assert_string_equal(order->prepare->share->node, "n2");
    }
    if (order->terminate) {
        assert_int_equal(is_old ? order->terminate->exit_status : order->attempt->exit_status, 256);
        assert_true(is_old ? order->terminate->has_derived_status
                           : order->attempt->has_derived_status);
    }
}

/* The attempt is described beside the order; for an old node inside the order. */
static void order_to_an_older_node_contains_the_attempt(void **state)
{
    struct fixture *f = make_fixture(NODES "Prolog=/p\nPrologFlags=Alloc\n");
    size_t told = 0;
    fixture_register_as(f, "n2", "i1", true);
    uint32_t id = (uint32_t)submit_on_three(f);
    fixture_batch_ended(f, "n1", id, 0, 256);
    vec_foreach (&f->orders, o) {
        const Pb__NodeOrder *order = (*o)->orders->orders[0];
        if (!order->prepare && !order->terminate)
            continue;
        check_told(order, !strcmp((*o)->node, "n2"));
        told++;
    }
    assert_true(told >= 4); /* both orders to each of the other nodes */
    fixture_free(f);
}

/* every node gets the job's description, with its share there, with or without a prolog. */
static void extern_steps_begin_with_the_job(void **state)
{
    struct fixture *f = make_fixture(NODES "PrologFlags=Contain\n");
    uint32_t id = (uint32_t)submit_on_three(f);
    bool told = false;
    assert_int_equal(count_prepare_orders(f, "n2", id) + count_prepare_orders(f, "n3", id), 2);
    vec_foreach (&f->orders, o) {
        const Pb__NodeOrder *order = (*o)->orders->orders[0];
        if (order->launch)
            told = order->launch->has_contain && order->launch->contain;
        if (!order->prepare)
            continue;
        assert_true(order->prepare->has_contain && order->prepare->contain);
        assert_string_equal(order->attempt->share->node, (*o)->node);
        assert_int_equal(order->attempt->share->cpus, 1);
    }
    assert_true(told);
    fixture_batch_ended(f, "n1", id, 0, 0);
    assert_true(fixture_terminates(f, "n3", id) > 0);
    fixture_free(f);
}

static void prolog_failing_at_allocation_requeues_the_job(void **state)
{
    struct fixture *f = make_fixture(NODES "Prolog=/p\nPrologFlags=Alloc\n");
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = (uint32_t)submit_on_three(f);
    fail_prolog(f, "n4", id, 0); /* not its node: only drained */
    fail_prolog(f, "n2", id, 1); /* of another attempt */
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fail_prolog(f, "n3", id, 0);
    assert_string_equal(fixture_node(f, &arena, "n3")->reason,
                        "Prolog error: Prolog /p exited with status 1, job 1");
    fixture_gone(f, "n1", id, 0);
    fixture_gone(f, "n2", id, 0);
    fixture_gone(f, "n3", id, 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    assert_string_equal(fixture_job(f, &arena, id)->live->reason, "JobHeldUser");
    fixture_free(f);
}

/* --wait-all-nodes */

static void report_prepared(struct fixture *f, const char *node, uint32_t id)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__Prepared m = PB__PREPARED__INIT;
    m.job_id = id;
    e.prepared = &m;
    fixture_event(f, node, &e);
}

static bool is_configuring(struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobRecord *j = fixture_job(f, &arena, id);
    return j->live->configuring;
}

/* Nodes of an older version never report ready and are not awaited: at the start of the job, and
 * when a disconnected node returns with such a version. */
static void nodes_of_older_versions_are_not_awaited(void **state)
{
    for (unsigned older = 0; older < 4; older++) {
        struct fixture *f = make_fixture(NODES);
        struct caller user = FIXTURE_USER;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        spec.has_min_nodes = spec.has_wait_all_nodes = spec.wait_all_nodes = true;
        spec.min_nodes = 2;
        for (unsigned i = 0; i < 2; i++)
            fixture_register_as(f, i ? "n2" : "n1", "i1", older >> i & 1);
        uint32_t id = (uint32_t)fixture_submit(f, &user, &spec);
        fixture_pass(f, 10);
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
        assert_int_equal(is_configuring(f, id), older != 3);
        if (older == 2) { /* an unknown version is awaited */
            fixture_restart(f);
            assert_true(is_configuring(f, id));
            fixture_register_as(f, "n2", "i1", true);
            fixture_register_as(f, "n1", "i1", false);
            fixture_pass(f, 5000);
        }
        if (!(older & 1))
            report_prepared(f, "n1", id);
        assert_int_equal(is_configuring(f, id), !(older & 2));
        if (older == 0) /* it returns without the feature */
            fixture_register_as(f, "n2", "i1", true);
        else if (!(older & 2))
            report_prepared(f, "n2", id);
        fixture_pass(f, 5000); /* it is asked again */
        assert_false(is_configuring(f, id));
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hanging_prolog_is_reported),
        cmocka_unit_test(a_failing_prolog_drains_and_requeues_held),
        cmocka_unit_test(a_node_at_fault_is_drained_and_the_job_runs_elsewhere),
        cmocka_unit_test(job_waits_for_a_full_spool_directory),
        cmocka_unit_test(unstartable_job_fails_without_draining_its_node),
        cmocka_unit_test(reason_of_the_hold_is_shown),
        cmocka_unit_test(job_without_its_user_environment_is_held),
        cmocka_unit_test(nohold_on_prolog_fail_requeues_without_a_hold),
        cmocka_unit_test(unrequeueable_job_fails_with_its_prolog),
        cmocka_unit_test(force_requeue_on_fail_requeues_every_job),
        cmocka_unit_test(failing_epilog_drains_the_node),
        cmocka_unit_test(nodes_are_not_prepared_without_prolog_and_flag),
        cmocka_unit_test(nodes_are_prepared_at_allocation),
        cmocka_unit_test(order_to_an_older_node_contains_the_attempt),
        cmocka_unit_test(extern_steps_begin_with_the_job),
        cmocka_unit_test(prolog_failing_at_allocation_requeues_the_job),
        cmocka_unit_test(nodes_of_older_versions_are_not_awaited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
