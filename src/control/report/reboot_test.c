/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol reboot: when a node gets the order, its states meanwhile, and its return. */
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "control/fixture.h"

#define LINES "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=p Nodes=ALL Default=YES\n"
#define PROGRAM "RebootProgram=/sbin/reboot\nResumeTimeout=50\n"
#define TIMEOUT "SlurmdTimeout=20\n"

struct request {
    const char *nodes, *state, *reason, *next_state;
    bool asap, force;
};

static int request_reboot(struct fixture *f, const struct request *q)
{
    struct caller root = FIXTURE_ROOT;
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    r.nodes = (char *)q->nodes;
    r.state = (char *)(q->state ? q->state : "REBOOT");
    r.reason = (char *)q->reason;
    r.next_state = (char *)q->next_state;
    r.has_reboot_asap = r.reboot_asap = q->asap;
    r.has_reboot_force = r.reboot_force = q->force;
    control_node_update(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* Expects "IDLE+DRAIN+REBOOT_ISSUED: the reason". */
static void assert_node(struct fixture *f, const char *node, const char *wanted)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__NodeRecord *n = fixture_node(f, &arena, node);
    char text[256];
    snprintf(text, sizeof(text), "%s%s%s%s%s%s",
             n->state == PB__NODE_BASE__NODE_IDLE      ? "IDLE"
             : n->state == PB__NODE_BASE__NODE_DOWN    ? "DOWN"
             : n->state == PB__NODE_BASE__NODE_UNKNOWN ? "UNKNOWN"
                                                       : "ALLOCATED",
             n->drain ? "+DRAIN" : "", n->reboot_requested ? "+REBOOT_REQUESTED" : "",
             n->reboot_issued ? "+REBOOT_ISSUED" : "", n->reason ? ": " : "",
             n->reason ? n->reason : "");
    assert_string_equal(text, wanted);
}

static size_t count_orders(const struct fixture *f, const char *node)
{
    size_t count = 0;
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++)
            count += strcmp((*o)->node, node) == 0 && (*o)->orders->orders[i]->reboot;
    return count;
}

/* Returns a spec for the whole n1. */
static Pb__JobSpec make_spec(void)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_batch = s.batch = s.has_exclusive = s.exclusive = true;
    s.req_nodes = (char *)"n1";
    return s;
}

static uint32_t run_job(struct fixture *f)
{
    struct caller root = FIXTURE_ROOT;
    Pb__JobSpec spec = make_spec();
    int64_t id = fixture_submit(f, &root, &spec);
    assert_true(id > 0);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    return (uint32_t)id;
}

static void invalid_reboot_requests_are_refused(void **state)
{
    struct fixture *f = fixture_new_up(LINES, 2);
    assert_int_equal(request_reboot(f, &(struct request){"n1"}), ERR_CONFIG);
    assert_non_null(strstr(fixture_text(f, f->last_call), "RebootProgram"));
    fixture_reconfigure(f, LINES PROGRAM TIMEOUT);
    assert_int_equal(request_reboot(f, &(struct request){"n1", .next_state = "UP"}), ERR_PARSE);
    assert_int_equal(request_reboot(f, &(struct request){"n9"}), ERR_NO_NODE);
    assert_int_equal(request_reboot(f, &(struct request){"n1", "CANCEL_REBOOT"}), ERR_TRANSITION);
    assert_node(f, "n1", "IDLE");
    fixture_free(f);
}

static void idle_node_gets_the_order_at_once(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    assert_int_equal(request_reboot(f, &(struct request){"n1"}), 0);
    assert_node(f, "n1", "IDLE+REBOOT_ISSUED: reboot requested : reboot issued");
    assert_int_equal(count_orders(f, "n1"), 1);
    assert_int_equal(count_orders(f, "n2"), 0);
    assert_int_equal(request_reboot(f, &(struct request){"n1"}),
                     0); /* a second request changes nothing */
    assert_int_equal(count_orders(f, "n1"), 1);
    fixture_register(f, "n1", "i1"); /* its daemon restarts and has not got the order */
    assert_int_equal(count_orders(f, "n1"), 2);
    fixture_register(f, "n1", "i2");
    assert_node(f, "n1", "IDLE");
    fixture_free(f);
}

static void node_with_jobs_gets_the_order_after_they_end(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    uint32_t job = run_job(f);
    assert_int_equal(request_reboot(f, &(struct request){"n1", .reason = "kernel"}), 0);
    assert_node(f, "n1", "ALLOCATED+REBOOT_REQUESTED: kernel");
    fixture_restart(f);
    fixture_register(f, "n2", "i1");
    fixture_register_job(f, "n1", job, false);
    assert_int_equal(count_orders(f, "n1"), 0);
    fixture_batch_ended(f, "n1", job, 0, 0);
    fixture_gone(f, "n1", job, 0);
    assert_node(f, "n1", "IDLE+REBOOT_ISSUED: kernel : reboot issued");
    assert_int_equal(count_orders(f, "n1"), 1);
    struct caller root = FIXTURE_ROOT;
    Pb__JobSpec spec = make_spec();
    int64_t waits = fixture_submit(f, &root, &spec);
    assert_int_equal(fixture_state(f, (uint32_t)waits), PB__JOB_STATE__PENDING);
    fixture_register(f, "n1", "i2");
    assert_int_equal(fixture_state(f, (uint32_t)waits), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void asap_drains_and_resumes(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    uint32_t job = run_job(f);
    assert_int_equal(request_reboot(f, &(struct request){"n1", .asap = true}), 0);
    assert_node(f, "n1", "ALLOCATED+DRAIN+REBOOT_REQUESTED: Reboot ASAP");
    assert_int_equal(request_reboot(f, &(struct request){"n1", "CANCEL_REBOOT"}), 0);
    assert_node(f, "n1", "ALLOCATED");
    assert_int_equal(request_reboot(f, &(struct request){"n1", .asap = true}), 0);
    fixture_end(f, job, 0);
    assert_node(f, "n1", "IDLE+DRAIN+REBOOT_ISSUED: Reboot ASAP : reboot issued");
    assert_int_equal(request_reboot(f, &(struct request){"n1", "CANCEL_REBOOT"}), ERR_TRANSITION);
    fixture_register(f, "n1", "i2");
    assert_node(f, "n1", "IDLE");
    fixture_free(f);
}

static void next_state_applies_after_the_reboot(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "disk"), 0);
    assert_int_equal(request_reboot(f, &(struct request){"n1", .asap = true, .next_state = "DOWN"}),
                     0);
    assert_int_equal(request_reboot(f, &(struct request){"n2", .next_state = "RESUME"}), 0);
    assert_node(f, "n1", "IDLE+DRAIN+REBOOT_ISSUED: Reboot ASAP : reboot issued");
    assert_node(f, "n2", "IDLE+DRAIN+REBOOT_ISSUED: disk : reboot issued");
    fixture_register(f, "n1", "i2");
    fixture_register(f, "n2", "i2");
    assert_node(f, "n1", "DOWN+DRAIN: Reboot ASAP : reboot issued : reboot complete");
    assert_node(f, "n2", "IDLE");
    fixture_register(f, "n1", "i2"); /* only an operator returns it to service */
    assert_node(f, "n1", "DOWN+DRAIN: Reboot ASAP : reboot issued : reboot complete");
    /* A node that an operator has drained stays drained without nextstate. */
    assert_int_equal(fixture_update_node(f, "n2", "DRAIN", "disk"), 0);
    assert_int_equal(request_reboot(f, &(struct request){"n2", .asap = true, .reason = "disk"}), 0);
    fixture_register(f, "n2", "i3");
    assert_node(f, "n2", "IDLE+DRAIN: disk : reboot issued");
    fixture_free(f);
}

static void forced_reboot_ends_the_jobs(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    uint32_t job = run_job(f);
    assert_int_equal(request_reboot(f, &(struct request){"n1", .force = true}), 0);
    assert_int_equal(fixture_terminates(f, "n1", job), 1);
    fixture_gone(f, "n1", job, 0);
    assert_node(f, "n1", "IDLE+DRAIN+REBOOT_ISSUED: reboot requested : reboot issued");
    assert_int_equal(count_orders(f, "n1"), 1);
    fixture_register(f, "n1", "i2");
    assert_node(f, "n1", "ALLOCATED"); /* by the same job, which was requeued */
    assert_int_equal(fixture_launches(f, "n1", job), 2);
    fixture_free(f);
}

static void forced_reboot_after_asap_resumes_the_node(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    uint32_t job = run_job(f);
    assert_int_equal(request_reboot(f, &(struct request){"n1", .asap = true}), 0);
    assert_int_equal(request_reboot(f, &(struct request){"n1", .force = true}), 0);
    fixture_gone(f, "n1", job, 0);
    fixture_register(f, "n1", "i2");
    assert_node(f, "n1", "ALLOCATED"); /* the reboot drained it: the drain ends with the reboot */
    fixture_free(f);
}

static void register_with_cpus(struct fixture *f, const char *node, const char *incarnation,
                               uint32_t cpus)
{
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    r.name = (char *)node;
    r.version = (char *)"test";
    r.incarnation = (char *)incarnation;
    SET(&r, cpus, cpus);
    control_node_register(f->control, node, &r);
    fixture_turn(f);
}

static void resumed_with_less_than_configured(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    assert_int_equal(request_reboot(f, &(struct request){"n1", .next_state = "RESUME"}), 0);
    register_with_cpus(f, "n1", "i2", 2);
    assert_node(f, "n1", "DOWN: Low CPUs (reported:2 < configured:4)");
    fixture_free(f);
}

static void rebooted_node_without_timeout_stays_up(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM "SlurmdTimeout=0\n", 2);
    assert_int_equal(request_reboot(f, &(struct request){"n1"}), 0);
    fixture_register(f, "n1", "i2");
    assert_node(f, "n1", "IDLE");
    fixture_pass(f, 60000); /* ResumeTimeout, without a report */
    assert_node(f, "n1", "IDLE");
    fixture_free(f);
}

static void node_that_does_not_return_is_down(void **state)
{
    for (int restart = 0; restart < 2; restart++) {
        struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
        assert_int_equal(request_reboot(f, &(struct request){"n1"}), 0);
        fixture_pass(f, 10000);
        if (restart) {
            fixture_restart(f);
            fixture_register(f, "n2", "i1");
        }
        fixture_pass(f, 5000);
        fixture_register(f, "n2", "i1");
        fixture_pass(f, 14000);
        fixture_register(f, "n2", "i1");
        fixture_pass(f, 14000); /* SlurmdTimeout has expired, ResumeTimeout has not */
        fixture_register(f, "n2", "i1");
        assert_node(f, "n1",
                    restart ? "UNKNOWN+REBOOT_ISSUED: reboot requested : reboot issued"
                            : "IDLE+REBOOT_ISSUED: reboot requested : reboot issued");
        fixture_pass(f, 10000);
        assert_node(f, "n1", "DOWN: reboot requested : reboot issued : reboot timed out");
        fixture_free(f);
    }
}

/* --reboot */

static int64_t submit_rebooting(struct fixture *f, const struct caller *who, Pb__JobSpec *spec)
{
    SET(spec, batch, true);
    SET(spec, reboot, true);
    return fixture_submit(f, who, spec);
}

static void assert_phase(struct fixture *f, uint32_t id, bool configuring, size_t launches)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, id)->live;
    assert_int_equal(live->state, PB__JOB_STATE__RUNNING);
    assert_int_equal(live->configuring, configuring);
    assert_int_equal(fixture_launches(f, "n1", id), launches);
}

static void test_only_administrators_reboot_the_nodes_of_a_job(void **state)
{
    struct fixture *f = fixture_new_up(LINES, 2);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec spec = fixture_spec(1, 1);
    assert_int_equal(submit_rebooting(f, &user, &spec), -ERR_ACCESS);
    assert_int_equal(submit_rebooting(f, &root, &spec), -ERR_CONFIG);
    assert_non_null(strstr(fixture_text(f, f->last_call), "RebootProgram is not set"));
    assert_int_equal(fixture_count_jobs(f), 0);
    fixture_free(f);
}

static void test_only_administrators_change_whether_a_job_reboots_its_nodes(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec spec = fixture_spec(1, 1), set = PB__JOB_SPEC__INIT;
    SET(&spec, hold, true);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)fixture_submit(f, &user, &spec);
    r.set = &set;
    SET(&set, reboot, true);
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_true(fixture_job(f, &arena, r.job_id)->spec->reboot);
    fixture_free(f);
}

/* Both nodes must reboot, also if the controller restarts between their registrations. */
static void test_a_job_begins_when_all_of_its_nodes_have_rebooted(void **state)
{
    for (int restart = 0; restart < 2; restart++) {
        struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
        struct caller root = FIXTURE_ROOT;
        Pb__JobSpec spec = fixture_spec(2, 2);
        uint32_t id = (uint32_t)submit_rebooting(f, &root, &spec);
        assert_node(f, "n1", "ALLOCATED+REBOOT_ISSUED: reboot requested : reboot issued");
        assert_int_equal(count_orders(f, "n1") + count_orders(f, "n2"), 2);
        assert_phase(f, id, true, 0);
        fixture_register(f, "n1", "i2");
        assert_node(f, "n1", "ALLOCATED");
        assert_phase(f, id, true, 0);
        if (restart) {
            fixture_restart(f);
            fixture_register(f, "n1", "i2");
        }
        size_t before = count_orders(f, "n2");
        fixture_register(f, "n2", "i1"); /* its daemon has restarted, the node has not */
        assert_phase(f, id, true, 0);
        assert_int_equal(count_orders(f, "n2"), before + 1);
        fixture_register(f, "n2", "i2");
        assert_phase(f, id, false, 1);
        fixture_free(f);
    }
}

static void test_a_job_that_reboots_its_node_has_the_node_alone(void **state)
{
    struct fixture *f = fixture_new_up(
        "NodeName=n1 CPUs=4 RealMemory=4000\n"
        "PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:4\n" PROGRAM TIMEOUT,
        1);
    struct caller root = FIXTURE_ROOT;
    Pb__JobSpec small = fixture_spec(1, 1), spec = fixture_spec(1, 1);
    SET(&small, batch, true);
    uint32_t first = (uint32_t)fixture_submit(f, &root, &small);
    assert_int_equal(fixture_state(f, first), PB__JOB_STATE__RUNNING);
    uint32_t id = (uint32_t)submit_rebooting(f, &root, &spec);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    assert_int_equal(count_orders(f, "n1"), 0);
    fixture_launched(f, "n1", first, 0);
    fixture_end(f, first, 0);
    assert_int_equal(count_orders(f, "n1"), 1);
    uint32_t third = (uint32_t)fixture_submit(f, &root, &small);
    assert_int_equal(fixture_state(f, third), PB__JOB_STATE__PENDING);
    fixture_register(f, "n1", "i2");
    assert_phase(f, id, false, 1);
    fixture_free(f);
}

static void test_a_job_whose_node_does_not_come_back_is_requeued_or_fails(void **state)
{
    for (int requeue = 0; requeue < 2; requeue++) {
        struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
        struct caller root = FIXTURE_ROOT;
        Pb__JobSpec spec = fixture_spec(1, 1);
        spec.req_nodes = (char *)"n1";
        SET(&spec, requeue, requeue);
        uint32_t id = (uint32_t)submit_rebooting(f, &root, &spec);
        fixture_pass(f, 49000);
        assert_phase(f, id, true, 0);
        fixture_pass(f, 2000);
        assert_node(f, "n1", "DOWN: reboot requested : reboot issued : reboot timed out");
        assert_int_equal(fixture_state(f, id),
                         requeue ? PB__JOB_STATE__PENDING : PB__JOB_STATE__BOOT_FAIL);
        fixture_free(f);
    }
}

static void test_a_node_with_too_few_resources_after_its_reboot_fails_the_job(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    struct caller root = FIXTURE_ROOT;
    Pb__JobSpec spec = fixture_spec(1, 1);
    spec.req_nodes = (char *)"n1";
    uint32_t id = (uint32_t)submit_rebooting(f, &root, &spec);
    register_with_cpus(f, "n1", "i2", 2);
    assert_node(f, "n1", "DOWN: Low CPUs (reported:2 < configured:4)");
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    fixture_free(f);
}

static void test_a_job_cancelled_during_the_reboot_leaves_its_node_rebooting(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
    struct caller root = FIXTURE_ROOT;
    Pb__JobSpec spec = fixture_spec(1, 1);
    spec.req_nodes = (char *)"n1";
    uint32_t id = (uint32_t)submit_rebooting(f, &root, &spec);
    assert_int_equal(fixture_cancel(f, &root, id, NULL, 0), 0);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    assert_node(f, "n1", "IDLE+REBOOT_ISSUED: reboot requested : reboot issued");
    fixture_register(f, "n1", "i2");
    assert_node(f, "n1", "IDLE");
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    fixture_free(f);
}

/* The leader, whose node is back, waits for the component. */
static void test_a_node_reboots_once_for_a_component_that_waits_for_another(void **state)
{
    for (int restart = 0; restart < 2; restart++) {
        struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT, 2);
        struct caller root = FIXTURE_ROOT;
        Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 1)};
        specs[0].req_nodes = (char *)"n1";
        specs[1].req_nodes = (char *)"n2";
        SET(&specs[0], reboot, true);
        SET(&specs[0], batch, true);
        SET(&specs[1], reboot, true);
        uint32_t id = (uint32_t)fixture_submit_set(f, &root, specs, 2);
        fixture_register(f, "n1", "i2");
        assert_phase(f, id, true, 0);
        if (restart) {
            fixture_restart(f);
            fixture_register(f, "n1", "i2");
        }
        assert_int_equal(count_orders(f, "n1"), !restart);
        fixture_register(f, "n2", "i2");
        assert_phase(f, id, false, 1);
        assert_int_equal(count_orders(f, "n1"), !restart);
        fixture_free(f);
    }
}

static void test_nodes_reboot_after_the_prolog_of_the_controller(void **state)
{
    struct fixture *f = fixture_new_up(LINES PROGRAM TIMEOUT "PrologSlurmctld=/site/prolog\n", 2);
    struct caller root = FIXTURE_ROOT;
    Pb__JobSpec spec = fixture_spec(1, 1);
    spec.req_nodes = (char *)"n1";
    uint32_t id = (uint32_t)submit_rebooting(f, &root, &spec);
    assert_int_equal(count_orders(f, "n1"), 0);
    fixture_script_ended(f, PB__SCRIPT_KIND__SCRIPT_PROLOG, id, 0);
    assert_int_equal(count_orders(f, "n1"), 1);
    assert_phase(f, id, true, 0);
    fixture_register(f, "n1", "i2");
    assert_phase(f, id, false, 1);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_reboot_requests_are_refused),
        cmocka_unit_test(idle_node_gets_the_order_at_once),
        cmocka_unit_test(node_with_jobs_gets_the_order_after_they_end),
        cmocka_unit_test(asap_drains_and_resumes),
        cmocka_unit_test(next_state_applies_after_the_reboot),
        cmocka_unit_test(forced_reboot_ends_the_jobs),
        cmocka_unit_test(forced_reboot_after_asap_resumes_the_node),
        cmocka_unit_test(resumed_with_less_than_configured),
        cmocka_unit_test(rebooted_node_without_timeout_stays_up),
        cmocka_unit_test(node_that_does_not_return_is_down),
        cmocka_unit_test(test_only_administrators_reboot_the_nodes_of_a_job),
        cmocka_unit_test(test_only_administrators_change_whether_a_job_reboots_its_nodes),
        cmocka_unit_test(test_a_job_begins_when_all_of_its_nodes_have_rebooted),
        cmocka_unit_test(test_a_job_that_reboots_its_node_has_the_node_alone),
        cmocka_unit_test(test_a_job_whose_node_does_not_come_back_is_requeued_or_fails),
        cmocka_unit_test(test_a_node_with_too_few_resources_after_its_reboot_fails_the_job),
        cmocka_unit_test(test_a_job_cancelled_during_the_reboot_leaves_its_node_rebooting),
        cmocka_unit_test(test_a_node_reboots_once_for_a_component_that_waits_for_another),
        cmocka_unit_test(test_nodes_reboot_after_the_prolog_of_the_controller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
