/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heterogeneous jobs are whole: components wait, begin, stand still, return and end together. */
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "cluster/job/job_set.h"
#include "control/fixture.h"

static struct fixture *make_fixture(const char *lines)
{
    return fixture_new_up(lines, 4);
}

static uint32_t count_restarts(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobRecord *r = fixture_job(f, &arena, (uint32_t)id);
    return r->live->has_restarts ? r->live->restarts : 0;
}

/* A component that is back in the queue by the end of the leader is not ended once more. */
static void a_shutdown_ends_a_set_once(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)};
    (void)state;
    specs[0].has_requeue = specs[0].requeue = true;
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    control_announce(f->control, 10);
    fixture_turn(f);
    fixture_pass(f, 11000);
    fixture_expect_set(f, id, "CG PD");
    assert_int_equal(count_restarts(f, id + 1), 1);
    fixture_free(f);
}

/* A component that cannot end in time does not start any more, so none of them does. */
static void missed_deadline_of_one_component_ends_the_set(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec large = fixture_spec(4, 4),
                specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)};
    (void)state;
    fixture_submit(f, &user, &large);
    specs[1].has_deadline_at_sec = specs[1].has_time_limit_sec = true;
    specs[1].deadline_at_sec = f->wall_ms / 1000 + 120;
    specs[1].time_limit_sec = 60;
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    fixture_expect_set(f, id, "PD PD PD");
    fixture_pass(f, 70000);
    fixture_expect_set(f, id, "DL DL DL");
    fixture_free(f);
}

static void expect_held(struct fixture *f, int64_t id, bool held)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    fixture_expect_set(f, id, "PD PD PD");
    for (uint32_t i = 0; i < 3; i++) {
        const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)id + i)->live;
        assert_int_equal(l->priority == 0, held);
        assert_int_equal(l->special_exit, held);
    }
}

/* By requeuehold or the exit status of the script (HET-50), also after a restart of the controller.
 */
static void requeuehold_holds_all_components(void **state)
{
    (void)state;
    for (int by_status = 0; by_status < 2; by_status++) {
        struct fixture *f = make_fixture(FIXTURE_SET_CONF "RequeueExitHold=7\n");
        struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
        Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)};
        Pb__JobUpdate hold = PB__JOB_UPDATE__INIT, release = PB__JOB_UPDATE__INIT;
        specs[0].has_requeue = specs[0].requeue = true;
        int64_t id = fixture_submit_set(f, &user, specs, 3);
        fixture_launched(f, "n1", (uint32_t)id, 0);
        hold.job_id = release.job_id = (uint32_t)id;
        SET(&hold, requeue, true);
        SET(&hold, hold, true);
        SET(&hold, special_exit, true);
        SET(&release, hold, false);
        if (by_status)
            fixture_batch_ended(f, "n1", (uint32_t)id, 0, 7 << 8);
        else
            assert_int_equal(fixture_update_job(f, &root, &hold), 0);
        fixture_gone(f, "n1", (uint32_t)id, 0);
        expect_held(f, id, true);
        fixture_restart(f);
        expect_held(f, id, true);
        assert_int_equal(fixture_update_job(f, &root, &release), 0);
        expect_held(f, id, false);
        fixture_free(f);
    }
}

/* The one that is over does not return to the queue, so the others do not either. */
static void a_set_past_its_deadline_is_not_requeued(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF "PrologSlurmctld=/p\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)};
    (void)state;
    specs[0].has_requeue = specs[0].requeue = true;
    specs[1].has_deadline_at_sec = specs[1].has_time_limit_sec = true;
    specs[1].deadline_at_sec = f->wall_ms / 1000 + 10;
    specs[1].time_limit_sec = 10;
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    fixture_pass(f, 20000);
    assert_int_equal(f->scripts.len, 3);
    struct fixture_script of_leader = vec_pop(&f->scripts); /* it ends last */
    vec_push(&f->scripts, f->scripts.data[0]);
    f->scripts.data[0] = of_leader;
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, (uint32_t)id + 1, 0);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, (uint32_t)id + 2, 0);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, (uint32_t)id, 1 << 8);
    fixture_expect_set(f, id, "CA DL CA");
    fixture_free(f);
}

static void a_set_with_a_purged_component_is_not_requeued(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF "MinJobAge=300\nSlurmdTimeout=0\n");
    struct caller root = FIXTURE_ROOT;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)};
    Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT;
    (void)state;
    specs[0].has_requeue = specs[0].requeue = true;
    int64_t id = fixture_submit_set(f, &root, specs, 2);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    assert_int_equal(fixture_cancel(f, &root, id + 1, NULL, 0), 0);
    fixture_gone(f, "n2", (uint32_t)id + 1, 0);
    fixture_pass(f, 1000 * 1000);
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_pass(f, 10 * 1000);
    fixture_expect_set(f, id, "CD");
    requeue.has_requeue = requeue.requeue = true;
    requeue.job_id = (uint32_t)id;
    assert_int_equal(fixture_update_job(f, &root, &requeue), ERR_FINISHED);
    fixture_expect_set(f, id, "CD");
    fixture_free(f);
}

static void cancel_matching(struct fixture *f, const struct caller *who, const char *name)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    char *names[] = {(char *)name};
    filter.name = names;
    filter.n_name = 1;
    r.filter = &filter;
    control_job_signal(f->control, ++f->last_call, who, &r);
    fixture_turn(f);
}

/* What scancel chooses by a name or a partition may be one component, HET-44. */
static void filter_matching_one_component_spares_a_pending_set(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
    Pb__JobSpec large = fixture_spec(4, 4),
                specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)};
    Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT;
    (void)state;
    specs[0].name = (char *)"first";
    specs[1].name = (char *)"second";
    specs[0].has_requeue = specs[0].requeue = true;
    int64_t blocker = fixture_submit(f, &user, &large);
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    cancel_matching(f, &user, "second");
    fixture_expect_set(f, id, "PD PD PD");
    fixture_end(f, (uint32_t)blocker, 0);
    fixture_turn(f);
    fixture_expect_set(f, id, "R R R");
    fixture_launched(f, "n1", (uint32_t)id, 0);
    requeue.has_requeue = requeue.requeue = true;
    requeue.job_id = (uint32_t)id;
    assert_int_equal(fixture_update_job(f, &root, &requeue), 0);
    fixture_expect_set(f, id, "CG PD PD"); /* it is on its way to the queue */
    assert_int_equal(fixture_cancel(f, &user, id + 1, NULL, 0), ERR_NOT_WHOLE_SET);
    cancel_matching(f, &user, "first");
    fixture_expect_set(f, id, "CG CA CA");
    for (unsigned i = 1; i <= 4; i++) {
        char node[8];
        snprintf(node, sizeof node, "n%u", i);
        fixture_gone(f, node, (uint32_t)id, 0);
    }
    fixture_expect_set(f, id, "CA CA CA");
    fixture_free(f);
}

static int order_suspend(struct fixture *f, int64_t id, bool resume)
{
    struct caller root = FIXTURE_ROOT;
    Pb__JobSuspend r = PB__JOB_SUSPEND__INIT;
    r.job_id = (uint32_t)id;
    r.has_resume = true;
    r.resume = resume;
    control_job_suspend(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* One whose CPUs another job has now keeps all standing; one that has ended is left out. */
static void components_are_suspended_and_resumed_together(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec whole = fixture_spec(1, 4),
                specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)};
    (void)state;
    whole.has_mem_per_cpu_mib = specs[1].has_mem_per_cpu_mib = true;
    whole.mem_per_cpu_mib = specs[1].mem_per_cpu_mib = 10;
    whole.req_nodes = specs[1].req_nodes = (char *)"n2";
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    fixture_expect_set(f, id, "R R R");
    assert_int_equal(order_suspend(f, id, false), 0);
    fixture_expect_set(f, id, "S S S");
    int64_t other = fixture_submit(f, &user, &whole);
    assert_int_equal(fixture_state(f, (uint32_t)other), PB__JOB_STATE__RUNNING);
    assert_int_equal(order_suspend(f, id, true), ERR_NODES_BUSY);
    fixture_expect_set(f, id, "S S S");
    fixture_end(f, (uint32_t)other, 0);
    assert_int_equal(order_suspend(f, id, true), 0);
    fixture_expect_set(f, id, "R R R");
    assert_int_equal(fixture_cancel(f, &user, id + 2, NULL, 0), 0);
    assert_int_equal(order_suspend(f, id, false), 0);
    fixture_expect_set(f, id, "S S CA");
    fixture_free(f);
}

/* Each could go on, but not both: the partition has a limit for a socket since. */
static void components_that_no_longer_fit_together_stay_suspended(void **state)
{
    struct fixture *f = make_fixture("SelectTypeParameters=CR_Core_Memory\n"
                                     "NodeName=n[1-4] CoresPerSocket=4 RealMemory=4000\n"
                                     "PartitionName=a Nodes=ALL Default=YES DefMemPerCPU=100\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 1), fixture_spec(1, 1)};
    Pb__PartRecord limit = PB__PART_RECORD__INIT;
    (void)state;
    specs[0].req_nodes = (char *)"n1";
    specs[1].req_nodes = specs[2].req_nodes = (char *)"n2";
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    fixture_expect_set(f, id, "R R R");
    assert_int_equal(order_suspend(f, id, false), 0);
    limit.name = (char *)"a";
    limit.has_max_cpus_per_socket = true;
    limit.max_cpus_per_socket = 1;
    assert_int_equal(fixture_update_part(f, &limit), 0);
    assert_int_equal(order_suspend(f, id, true), ERR_NODES_BUSY);
    fixture_expect_set(f, id, "S S S");
    limit.max_cpus_per_socket = 2;
    assert_int_equal(fixture_update_part(f, &limit), 0);
    assert_int_equal(order_suspend(f, id, true), 0);
    fixture_expect_set(f, id, "R R R");
    fixture_free(f);
}

/* The prolog of the controller is still at work for one of them. */
static void a_set_that_is_not_ready_is_not_suspended(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF "PrologSlurmctld=/bin/true\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)};
    (void)state;
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, (uint32_t)id, 0);
    assert_int_equal(order_suspend(f, id, false), ERR_JOB_PENDING);
    fixture_expect_set(f, id, "R R");
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, (uint32_t)id + 1, 0);
    assert_int_equal(order_suspend(f, id, false), 0);
    fixture_expect_set(f, id, "S S");
    fixture_free(f);
}

/* The script's job is not clean when it is cancelled, and queued again, after the others were. */
static void components_begin_in_the_same_attempt(void **state)
{
    (void)state;
    for (int clean = 0; clean < 2; clean++) {
        struct fixture *f = make_fixture(FIXTURE_SET_CONF);
        struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
        Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)};
        Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT;
        specs[0].has_requeue = specs[0].requeue = true;
        int64_t id = fixture_submit_set(f, &user, specs, 2);
        fixture_launched(f, "n1", (uint32_t)id, 0);
        requeue.has_requeue = requeue.requeue = true;
        requeue.job_id = (uint32_t)id;
        assert_int_equal(fixture_update_job(f, &root, &requeue), 0);
        assert_int_equal(fixture_cancel(f, &user, id, NULL, 0), 0);
        fixture_expect_set(f, id, "CG CA");
        if (clean)
            fixture_gone(f, "n1", (uint32_t)id, 0);
        assert_int_equal(fixture_update_job(f, &root, &requeue), 0);
        if (!clean)
            fixture_gone(f, "n1", (uint32_t)id, 0);
        fixture_turn(f);
        fixture_expect_set(f, id, "R R");
        assert_int_equal(count_restarts(f, id), 2);
        assert_int_equal(count_restarts(f, id + 1), 2);
        fixture_free(f);
    }
}

/* HET-49: a change is of all components, or is refused for all of them. */
static void requeueing_set_is_changed_as_a_whole(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)}, set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT, change = PB__JOB_UPDATE__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    specs[0].has_requeue = specs[0].requeue = true;
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    requeue.has_requeue = requeue.requeue = true;
    change.job_id = requeue.job_id = (uint32_t)id;
    assert_int_equal(fixture_update_job(f, &root, &requeue), 0);
    fixture_expect_set(f, id, "CG PD");
    set.comment = (char *)"other";
    change.set = &set;
    assert_int_equal(fixture_update_job(f, &root, &change), ERR_FINISHED);
    assert_null(fixture_job(f, &arena, (uint32_t)id + 1)->spec->comment);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    assert_int_equal(fixture_update_job(f, &root, &change), 0);
    assert_string_equal(fixture_job(f, &arena, (uint32_t)id)->spec->comment, "other");
    assert_string_equal(fixture_job(f, &arena, (uint32_t)id + 1)->spec->comment, "other");
    fixture_free(f);
}

/* What a user has asked for, and the place in the queue, of all components. */
static void pack_set(struct fixture *f, int64_t id, struct str *out)
{
    str_clear(out);
    for (uint32_t i = 0; i < 3; i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__JobRecord *r = fixture_job(f, &arena, (uint32_t)id + i);
        pb_pack(&r->spec->base, out);
        str_printf(out, "%u %s %lld\n", r->live->priority, r->live->partition,
                   (long long)r->live->time_limit_sec);
    }
}

/* HET-49: what is refused for one component, the first, the second or the last, changes none of
 * them: they are what they were, wait where they waited, and start together. */
static void a_change_that_one_component_refuses_changes_none(void **state)
{
    static const struct {
        int code;
        Pb__JobSpec set;
        uint32_t priority; /* 0: none */
        bool releases;
    } cases[] = {
#define WANTING(...) {.base = PROTOBUF_C_MESSAGE_INIT(&pb__job_spec__descriptor), __VA_ARGS__}
        {ERR_NODE_COUNT, WANTING(.has_min_nodes = true, .min_nodes = 3, .comment = "c")},
        {ERR_NODE_CONFIG, WANTING(.req_nodes = "n1", .name = "other")},
        {ERR_NODE_CONFIG, WANTING(.exc_nodes = "n[3-4]", .has_nice = true, .nice = 7)},
        {ERR_LICENSE, WANTING(.partition = "b", .licenses = "a:2")},
        {ERR_LICENSE, WANTING(.licenses = "a:2", .has_time_limit_sec = true, .time_limit_sec = 60)},
        {ERR_DEPENDENCY, WANTING(.comment = "d", .dependency = "afterok:99999")},
        {ERR_ACCESS, WANTING(.comment = "p"), .priority = 40},
        {ERR_ACCESS, WANTING(.comment = "h"), .releases = true},
    };
    struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
    _cleanup_str_ struct str before = STR_INIT, after = STR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = make_fixture(FIXTURE_SET_CONF);
        Pb__JobSpec large = fixture_spec(4, 4), set = cases[i].set;
        Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)};
        Pb__JobUpdate r = PB__JOB_UPDATE__INIT, one = PB__JOB_UPDATE__INIT;
        specs[1].partition = (char *)"b";
        int64_t blocker = fixture_submit(f, &user, &large);
        int64_t id = fixture_submit_set(f, &user, specs, 3);
        r.job_id = (uint32_t)id;
        r.set = &set;
        SET(&one, hold, true);
        one.has_hold = cases[i].releases;
        for (uint32_t k = 0; k < 3; k++) {
            one.job_id = (uint32_t)id + k;
            if (!cases[i].releases)
                SET(&one, priority, k == 2 ? 30 : 50);
            assert_int_equal(
                fixture_update_job(f, k == 2 || one.has_priority ? &root : &user, &one), 0);
        }
        if (cases[i].releases)
            SET(&r, hold, false);
        if (cases[i].priority)
            SET(&r, priority, cases[i].priority);
        pack_set(f, id, &before);
        assert_int_equal(fixture_update_job(f, &user, &r), cases[i].code);
        pack_set(f, id, &after);
        if (before.len != after.len || memcmp(before.data, after.data, before.len) != 0)
            fail_msg("case %zu: changed in part", i);
        assert_non_null(strstr(fixture_text(f, f->last_call), "(component "));
        fixture_end(f, (uint32_t)blocker, 0);
        fixture_turn(f);
        fixture_expect_set(f, id, cases[i].releases ? "PD PD PD" : "R R R");
        fixture_free(f);
    }
}

/* HET-115: that a set does not fit is no longer known when one of its components, the leader or
 * another one, asks for less. */
static void a_set_starts_when_a_component_asks_for_less(void **state)
{
    (void)state;
    for (uint32_t smaller = 0; smaller < 2; smaller++) {
        struct fixture *f = make_fixture(FIXTURE_SET_CONF);
        struct caller user = FIXTURE_USER;
        Pb__JobSpec two = fixture_spec(2, 4), set = PB__JOB_SPEC__INIT;
        Pb__JobSpec specs[] = {fixture_spec(1 + !smaller, 4), fixture_spec(1 + smaller, 4)};
        Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
        fixture_submit(f, &user, &two);
        int64_t id = fixture_submit_set(f, &user, specs, 2);
        fixture_expect_set(f, id, "PD PD");
        r.job_id = (uint32_t)id;
        r.set = &set;
        SET(&r, set_offset, smaller);
        SET(&set, num_tasks, 1);
        SET(&set, min_nodes, 1);
        SET(&set, max_nodes, 1);
        assert_int_equal(fixture_update_job(f, &user, &r), 0);
        fixture_expect_set(f, id, "R R");
        fixture_free(f);
    }
}

/* A component that is still ending when its leader is queued again returns, after a crash too. */
static void ending_component_is_requeued_after_a_restart(void **state)
{
    (void)state;
    for (int while_it_runs = 0; while_it_runs < 2; while_it_runs++) {
        struct fixture *f = make_fixture(FIXTURE_SET_CONF "Epilog=/bin/true\n");
        struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
        Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)};
        Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT;
        specs[0].has_requeue = specs[0].requeue = true;
        int64_t id = fixture_submit_set(f, &user, specs, 2);
        fixture_launched(f, "n1", (uint32_t)id, 0);
        if (while_it_runs)
            assert_int_equal(fixture_cancel(f, &user, id + 1, NULL, 0), 0);
        else
            fixture_batch_ended(f, "n1", (uint32_t)id, 0, 0);
        fixture_turn(f);
        fixture_expect_set(f, id, while_it_runs ? "R CG" : "CG CG");
        requeue.has_requeue = requeue.requeue = true;
        requeue.job_id = (uint32_t)id;
        assert_int_equal(fixture_update_job(f, &root, &requeue), 0);
        fixture_restart(f);
        fixture_register(f, "n1", "i1");
        fixture_register(f, "n2", "i1");
        fixture_gone(f, "n1", (uint32_t)id, 0);
        fixture_gone(f, "n2", (uint32_t)id + 1, 0);
        fixture_turn(f);
        fixture_expect_set(f, id, "R R");
        assert_int_equal(count_restarts(f, id + 1), 1);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shutdown_ends_a_set_once),
        cmocka_unit_test(missed_deadline_of_one_component_ends_the_set),
        cmocka_unit_test(requeuehold_holds_all_components),
        cmocka_unit_test(a_set_past_its_deadline_is_not_requeued),
        cmocka_unit_test(a_set_with_a_purged_component_is_not_requeued),
        cmocka_unit_test(filter_matching_one_component_spares_a_pending_set),
        cmocka_unit_test(components_are_suspended_and_resumed_together),
        cmocka_unit_test(components_that_no_longer_fit_together_stay_suspended),
        cmocka_unit_test(a_set_that_is_not_ready_is_not_suspended),
        cmocka_unit_test(components_begin_in_the_same_attempt),
        cmocka_unit_test(requeueing_set_is_changed_as_a_whole),
        cmocka_unit_test(a_change_that_one_component_refuses_changes_none),
        cmocka_unit_test(a_set_starts_when_a_component_asks_for_less),
        cmocka_unit_test(ending_component_is_requeued_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
