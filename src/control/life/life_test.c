/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs from submission to purge: rejections, repeated messages, lost nodes, restarts. */
#include <string.h>

#include "control/fixture.h"
#include "control/life/depend.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-4] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500\n"

static struct fixture *make_fixture(const char *lines)
{
    return fixture_new_up(lines, 4);
}

static const Pb__JobLive *get_live(struct fixture *f, struct arena *arena, int64_t id)
{
    const Pb__JobRecord *r = fixture_job(f, arena, (uint32_t)id);
    assert_non_null(r);
    return r->live;
}

static Pb__JobSpec make_spec(uint32_t min_nodes, uint32_t max_nodes, uint32_t cpus)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = s.has_cpus_per_task = true;
    s.min_nodes = min_nodes;
    s.max_nodes = max_nodes;
    s.cpus_per_task = cpus;
    return s;
}

static void impossible_requests_are_refused(void **state)
{
    struct fixture *f = make_fixture(CONF "EnforcePartLimits=ALL\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = make_spec(5, 5, 1);
    assert_int_equal(fixture_submit(f, &user, &s), -ERR_NODE_COUNT);
    s = make_spec(2, 1, 1);
    assert_int_equal(fixture_submit(f, &user, &s), -ERR_NODE_COUNT);
    s = make_spec(1, 1, 5);
    assert_true(fixture_submit(f, &user, &s) < 0);
    s = make_spec(1, 1, 1);
    s.partition = (char *)"z";
    assert_int_equal(fixture_submit(f, &user, &s), -ERR_NO_PARTITION);
    s.partition = NULL;
    s.has_nice = true;
    s.nice = -1;
    assert_int_equal(fixture_submit(f, &user, &s), -ERR_ACCESS);
    Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
    Pb__JobSpec plain = PB__JOB_SPEC__INIT;
    r.spec = &plain;
    control_submit(f->control, 1000, &user, &r);
    assert_int_equal(fixture_code(f, 1000), ERR_SCRIPT);
    control_set_store_low(f->control, true);
    assert_int_equal(fixture_submit(f, &user, NULL), -ERR_STORE_FULL);
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    control_stats(f->control, &stats);
    assert_int_equal(stats.jobs, 0); /* nothing is left behind */
    fixture_free(f);
}

static void ended_jobs_are_kept_with_min_job_age_0(void **state)
{
    (void)state;
    struct fixture *f = make_fixture(CONF "MinJobAge=0\n");
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t id = fixture_submit(f, &user, NULL);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_pass(f, 86400 * 1000);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__COMPLETED);
    fixture_restart(f);
    fixture_pass(f, 86400 * 1000);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

static void a_job_lives_and_is_purged(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t id = fixture_submit(f, &user, NULL);
    assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 1);
    const Pb__JobRecord *r = fixture_job(f, &arena, (uint32_t)id);
    assert_int_equal(r->spec->mem_per_cpu_mib, 500); /* the default, stored with the job */
    assert_int_equal(r->live->mem_mib, 500);
    assert_int_equal(r->spec->uid, 1000);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 3 << 8);
    assert_true(get_live(f, &arena, id)->completing);
    assert_true(fixture_node(f, &arena, "n1")->completing);
    assert_int_equal(fixture_node(f, &arena, "n1")->state, PB__NODE_BASE__NODE_IDLE);
    assert_int_equal(fixture_node(f, &arena, "n1")->alloc_cpus, 0);
    assert_false(fixture_node(f, &arena, "n2")->has_completing);
    assert_true(fixture_terminates(f, "n1", (uint32_t)id) > 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    const Pb__JobLive *after = get_live(f, &arena, id);
    assert_int_equal(after->state, PB__JOB_STATE__FAILED);
    assert_int_equal(after->exit_status, 3 << 8);
    assert_false(after->has_completing);
    assert_int_equal(fixture_node(f, &arena, "n1")->state, PB__NODE_BASE__NODE_IDLE);
    assert_int_equal(f->acks.len, 3);
    fixture_pass(f, 299 * 1000); /* MinJobAge */
    assert_non_null(fixture_job(f, &arena, (uint32_t)id));
    fixture_pass(f, 2000);
    assert_null(fixture_job(f, &arena, (uint32_t)id));
    fixture_restart(f);
    assert_null(fixture_job(f, &arena, (uint32_t)id));
    assert_true(fixture_submit(f, &user, NULL) > id); /* ids are never reused */
    fixture_free(f);
}

/* Ids are reserved in blocks; unassigned ids of a block are assigned after a crash. */
static void crash_wastes_no_job_ids_and_repeats_none(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    int64_t last = 0;

    for (unsigned round = 0; round < 40; round++) {
        int64_t id = fixture_submit(f, &user, NULL);
        assert_int_equal(id, last + 1);
        last = id;
        if (round % 4 == 1) { /* the newest job is purged: no record names its id */
            Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
            Pb__StepId target = PB__STEP_ID__INIT, *targets[] = {&target};
            target.job_id = (uint32_t)id;
            r.target = targets;
            r.n_target = 1;
            control_job_signal(f->control, ++f->last_call, &user, &r);
            fixture_turn(f);
            fixture_gone(f, "n1", (uint32_t)id, 0);
            fixture_gone(f, "n2", (uint32_t)id, 0);
            fixture_pass(f, 302 * 1000);
        }
        if (round % 3 == 1 || round % 4 == 1)
            fixture_restart(f);
    }
    fixture_free(f);
}

/* The job_submit plugin gives the job to another user: the request is identified by its sender,
 * also after a crash. */
static int give_to_ann(void *ctx, struct env_submit *ask, struct err *err)
{
    if (!ask->before) {
        ask->spec->has_uid = ask->spec->has_gid = true;
        ask->spec->uid = 1000;
        ask->spec->gid = 1000;
    }
    return 0;
}

static bool agree_always(void *ctx)
{
    return true;
}

static void a_repeated_request_finds_a_job_that_was_given_to_another_user(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
    Pb__JobSpec s = make_spec(1, 1, 1);
    s.has_request_id = true;
    s.request_id = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
    f->env.submit = give_to_ann;
    f->env.asks_submit = agree_always;
    int64_t id = fixture_submit(f, &root, &s);
    assert_true(id > 0);
    assert_int_equal(fixture_submit(f, &root, &s), id);
    fixture_restart(f);
    assert_int_equal(fixture_submit(f, &root, &s), id);
    assert_int_not_equal(fixture_submit(f, &user, &s), id); /* not submitted by its owner */
    fixture_free(f);
}

static void repeated_messages_act_once(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER, other = FIXTURE_OTHER;
    Pb__JobSpec s = make_spec(1, 1, 1);
    s.has_request_id = true;
    s.request_id = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
    int64_t id = fixture_submit(f, &user, &s);
    assert_int_equal(fixture_submit(f, &user, &s), id);
    fixture_restart(f);
    assert_int_equal(fixture_submit(f, &user, &s), id);
    assert_int_not_equal(fixture_submit(f, &other, &s), id); /* other users do not find it */
    fixture_register(f, "n1", "i1");
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 0);
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 9 << 8);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_gone(f, "n1", (uint32_t)id, 7);
    fixture_gone(f, "n1", 9999, 0);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

static void a_launch_is_repeated_to_the_same_life_of_the_node_only(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t id = fixture_submit(f, &user, NULL);
    fixture_clear(f);
    fixture_register(f, "n1", "i1"); /* its session broke; the launch may be lost */
    assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 1);
    fixture_clear(f);
    fixture_register(f, "n1", "i2"); /* it was rebooted: running jobs are gone */
    const Pb__JobLive *now = get_live(f, &arena, id);
    assert_int_equal(now->restarts, 1);
    assert_int_equal(now->state, PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void lost_node_requeues_only_its_jobs(void **state)
{
    struct fixture *f = make_fixture(CONF "SlurmdTimeout=30\n");
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec two = make_spec(2, 2, 4), one = make_spec(1, 1, 4), stay = make_spec(1, 1, 4);
    stay.has_requeue = true; /* --no-requeue */
    int64_t a = fixture_submit(f, &user, &two), b = fixture_submit(f, &user, &one),
            c = fixture_submit(f, &user, &stay);
    assert_string_equal(get_live(f, &arena, a)->nodes, "n[1-2]");
    assert_string_equal(get_live(f, &arena, b)->nodes, "n3");
    for (int i = 0; i < 4; i++) { /* n2 and n4 become unresponsive */
        fixture_pass(f, 10 * 1000);
        fixture_register(f, "n1", "i1");
        fixture_register(f, "n3", "i1");
    }
    assert_int_equal(fixture_state(f, (uint32_t)b), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, (uint32_t)c), PB__JOB_STATE__NODE_FAIL);
    assert_true(fixture_terminates(f, "n1", (uint32_t)a) > 0);
    fixture_gone(f, "n1", (uint32_t)a, 0);
    const Pb__JobLive *now = get_live(f, &arena, a);
    assert_int_equal(now->state, PB__JOB_STATE__PENDING);
    assert_int_equal(now->restarts, 1);
    assert_int_equal(fixture_node(f, &arena, "n2")->state, PB__NODE_BASE__NODE_DOWN);
    fixture_free(f);
}

static void register_running(struct fixture *f, const char *node, uint32_t job)
{
    Pb__Presence here = PB__PRESENCE__INIT, *present[] = {&here};
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    here.job_id = job;
    r.name = (char *)node;
    r.version = r.incarnation = (char *)"i1";
    r.present = present;
    r.n_present = 1;
    control_node_register(f->control, node, &r);
    fixture_turn(f);
}

/* A node that was given up while its session lived is asked for its state, and is back when it has
 * answered. */
static void responding_node_returns_to_service(void **state)
{
    struct fixture *f = make_fixture(CONF "SlurmdTimeout=30\nReturnToService=2\n");
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    fixture_pass(f, 31 * 1000);
    assert_int_equal(fixture_node(f, &arena, "n1")->state, PB__NODE_BASE__NODE_DOWN);
    fixture_clear(f);
    Pb__NodeReport beat = PB__NODE_REPORT__INIT;
    control_node_report(f->control, "n1", &beat);
    fixture_turn(f);
    assert_int_equal(f->orders.len, 1);
    assert_non_null(f->orders.data[0]->orders->orders[0]->report);
    fixture_register(f, "n1", "i1");
    assert_int_equal(fixture_node(f, &arena, "n1")->state, PB__NODE_BASE__NODE_IDLE);
    fixture_clear(f);
    control_node_report(f->control, "n1", &beat);
    fixture_turn(f);
    assert_int_equal(f->orders.len, 0);
    fixture_free(f);
}

static void returning_node_ends_old_jobs_before_it_gets_new_ones(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec all = make_spec(4, 4, 4);
    register_running(f, "n1", 4242);
    assert_int_equal(fixture_terminates(f, "n1", 4242), 1);
    int64_t id = fixture_submit(f, &user, &all);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__PENDING);
    fixture_gone(f, "n1", 4242, 0);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void restart_restores_everything(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec all = make_spec(4, 4, 4), one = make_spec(1, 1, 1);
    int64_t running = fixture_submit(f, &user, &all), waiting = fixture_submit(f, &user, &one);
    fixture_launched(f, "n1", (uint32_t)running, 0);
    for (int i = 0; i < 3; i++) {
        fixture_restart(f);
        assert_int_equal(fixture_state(f, (uint32_t)running), PB__JOB_STATE__RUNNING);
        assert_int_equal(fixture_state(f, (uint32_t)waiting), PB__JOB_STATE__PENDING);
        assert_string_equal(get_live(f, &arena, running)->nodes, "n[1-4]");
        fixture_pass(f, 60 * 1000);
    }
    fixture_batch_ended(f, "n1", (uint32_t)running, 0, 0);
    const char *names[] = {"n1", "n2", "n3", "n4"};
    for (int i = 0; i < 4; i++)
        fixture_gone(f, names[i], (uint32_t)running, 0);
    for (int i = 0; i < 4; i++)
        fixture_register(f, names[i], "i1");
    assert_int_equal(fixture_state(f, (uint32_t)waiting), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* The time limit continues while the controller is down. */
static void a_restart_does_not_lengthen_a_limit(void **state)
{
    struct fixture *f = make_fixture(CONF "SlurmdTimeout=0\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = make_spec(1, 1, 1);
    s.has_time_limit_sec = true;
    s.time_limit_sec = 60;
    int64_t id = fixture_submit(f, &user, &s);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    fixture_pass(f, 40 * 1000);
    fixture_restart(f);
    fixture_pass(f, 19 * 1000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 2 * 1000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

static void ids_go_on_after_an_orderly_end(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    int64_t id = fixture_submit(f, &user, NULL);
    control_stop(f->control, false);
    fixture_turn(f);
    fixture_restart(f);
    assert_int_equal(fixture_submit(f, &user, NULL), id + 1);
    fixture_restart(f); /* a crash: reserved ids may have been assigned */
    assert_true(fixture_submit(f, &user, NULL) > id + 1);
    fixture_free(f);
}

static size_t count_signals(const struct fixture *f, const char *node, int number, bool batch)
{
    size_t count = 0;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; i < (*at)->orders->n_orders; i++) {
            const Pb__SignalJob *s = (*at)->orders->orders[i]->signal;
            count +=
                s && str_eq((*at)->node, node) && s->signal == number && s->batch_only == batch;
        }
    return count;
}

static void warning_signal_is_sent_once(void **state)
{
    struct fixture *f = make_fixture(CONF "SlurmdTimeout=0\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = make_spec(1, 1, 1);
    s.has_time_limit_sec = true;
    s.time_limit_sec = 100;
    s.signal = (char *)"B:USR1@30";
    int64_t id = fixture_submit(f, &user, &s);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    fixture_pass(f, 69 * 1000);
    assert_int_equal(count_signals(f, "n1", 10, true), 0);
    control_node_lost(f->control, "n1"); /* it gets the order when it is connected again */
    fixture_pass(f, 2 * 1000);
    assert_int_equal(count_signals(f, "n1", 10, true), 0);
    register_running(f, "n1", (uint32_t)id);
    fixture_pass(f, 6 * 1000);
    assert_int_equal(count_signals(f, "n1", 10, true), 1);
    fixture_restart(f);
    register_running(f, "n1", (uint32_t)id);
    fixture_pass(f, 10 * 1000);
    assert_int_equal(count_signals(f, "n1", 10, true), 0);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 14 * 1000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

static void node_range_takes_the_free_nodes(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec wide = make_spec(2, 3, 4), next = make_spec(1, 4, 4);
    int64_t a = fixture_submit(f, &user, &wide), b = fixture_submit(f, &user, &next);
    assert_string_equal(get_live(f, &arena, a)->nodes, "n[1-3]");
    assert_string_equal(get_live(f, &arena, b)->nodes, "n4");
    fixture_free(f);
}

static void pending_reason_names_unavailable_nodes(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    fixture_update_node(f, "n[2-4]", "DRAIN", "disk");
    Pb__JobSpec two = make_spec(2, 2, 1), named = make_spec(1, 1, 1);
    named.req_nodes = (char *)"n[1-2]";
    named.min_nodes = named.max_nodes = 2;
    int64_t a = fixture_submit(f, &user, &two);
    assert_string_equal(get_live(f, &arena, a)->reason, "Resources");
    assert_non_null(strstr(get_live(f, &arena, a)->reason_detail, "DOWN, DRAINED"));
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)a;
    r.has_hold = r.hold = true;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_null(get_live(f, &arena, a)->reason_detail);
    int64_t b = fixture_submit(f, &user, &named);
    assert_string_equal(get_live(f, &arena, b)->reason, "ReqNodeNotAvail");
    assert_string_equal(get_live(f, &arena, b)->reason_detail,
                        "ReqNodeNotAvail, UnavailableNodes:n2");
    fixture_update_node(f, "n[2-4]", "RESUME", NULL);
    assert_int_equal(fixture_state(f, (uint32_t)b), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void a_reconfiguration_reaches_the_nodes(void **state)
{
    struct fixture *f = make_fixture(CONF);
    fixture_clear(f);
    control_node_lost(f->control, "n2");
    fixture_reconfigure(f, CONF "MinJobAge=10\n");
    size_t told = 0;
    vec_foreach (&f->orders, o)
        told += (*o)->orders->orders[0]->reconfigure != NULL;
    assert_int_equal(told, 3);
    fixture_free(f);
}

static void jobs_wait_for_begin_time_and_release(void **state)
{
    struct fixture *f = make_fixture(CONF "SlurmdTimeout=0\n");
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec late = make_spec(1, 1, 1), held = make_spec(1, 1, 1);
    late.has_begin_at_sec = true;
    late.begin_at_sec = f->wall_ms / 1000 + 100;
    held.has_hold = held.hold = true;
    int64_t a = fixture_submit(f, &user, &late), b = fixture_submit(f, &user, &held);
    assert_string_equal(get_live(f, &arena, a)->reason, "BeginTime");
    assert_int_equal(get_live(f, &arena, a)->start_at, late.begin_at_sec);
    assert_string_equal(get_live(f, &arena, b)->reason, "JobHeldUser");
    fixture_pass(f, 99 * 1000);
    assert_int_equal(fixture_state(f, (uint32_t)a), PB__JOB_STATE__PENDING);
    fixture_pass(f, 2 * 1000);
    assert_int_equal(fixture_state(f, (uint32_t)a), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, (uint32_t)b), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

/* CompleteWait: until the job is clean, or for that long. */
static void complete_wait_delays_other_jobs(void **state)
{
    enum { WAIT_SEC = 30 };
    struct fixture *f = make_fixture(CONF "CompleteWait=30\n");
    struct caller user = FIXTURE_USER;
    (void)state;
    for (unsigned is_cleaned = 0; is_cleaned < 2; is_cleaned++) {
        Pb__JobSpec s = make_spec(1, 1, 4);
        int64_t first = fixture_submit(f, &user, &s);
        const char *node = is_cleaned ? "n3" : "n1";
        assert_int_equal(fixture_state(f, (uint32_t)first), PB__JOB_STATE__RUNNING);
        fixture_launched(f, node, (uint32_t)first, 0);
        fixture_batch_ended(f, node, (uint32_t)first, 0, 0);
        int64_t second = fixture_submit(f, &user, &s);
        fixture_pass(f, (WAIT_SEC - 2) * 1000);
        assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__PENDING);
        if (is_cleaned)
            fixture_gone(f, node, (uint32_t)first, 0);
        fixture_pass(f, is_cleaned ? 0 : 3000);
        assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__RUNNING);
    }
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_requests_are_refused),
        cmocka_unit_test(a_job_lives_and_is_purged),
        cmocka_unit_test(ended_jobs_are_kept_with_min_job_age_0),
        cmocka_unit_test(crash_wastes_no_job_ids_and_repeats_none),
        cmocka_unit_test(a_repeated_request_finds_a_job_that_was_given_to_another_user),
        cmocka_unit_test(repeated_messages_act_once),
        cmocka_unit_test(a_launch_is_repeated_to_the_same_life_of_the_node_only),
        cmocka_unit_test(lost_node_requeues_only_its_jobs),
        cmocka_unit_test(responding_node_returns_to_service),
        cmocka_unit_test(returning_node_ends_old_jobs_before_it_gets_new_ones),
        cmocka_unit_test(restart_restores_everything),
        cmocka_unit_test(a_restart_does_not_lengthen_a_limit),
        cmocka_unit_test(ids_go_on_after_an_orderly_end),
        cmocka_unit_test(warning_signal_is_sent_once),
        cmocka_unit_test(node_range_takes_the_free_nodes),
        cmocka_unit_test(pending_reason_names_unavailable_nodes),
        cmocka_unit_test(a_reconfiguration_reaches_the_nodes),
        cmocka_unit_test(jobs_wait_for_begin_time_and_release),
        cmocka_unit_test(complete_wait_delays_other_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
