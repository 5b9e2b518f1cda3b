/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dynamic nodes: rejections, and the effects of a plan on jobs and records. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define LINES                                                                                      \
    "MaxNodeCount=4\nNodeName=n[1-2] CPUs=4 RealMemory=4000\nNodeSet=fast Feature=fast\n"          \
    "PartitionName=a Nodes=ALL Default=YES\nPartitionName=b Nodes=fast\n"                          \
    "SelectTypeParameters=CR_Core_Memory"

/* Carries out one request like the owner of the configuration. */
static int request_nodes(struct fixture *f, const char *nodes, const char *create, struct err *err)
{
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    struct node_dynamic_plan *plan = control_node_dynamic_begin(f->control);
    const struct conf *now = control_conf(f->control);
    struct conf *conf = NULL;
    struct str lines = STR_INIT;
    size_t len;
    r.nodes = (char *)nodes;
    r.create = (char *)create;
    r.has_remove = r.remove = !create;
    int rc = control_node_dynamic_add(f->control, plan, &r, false, err);
    if (rc == 0) {
        const char *text = conf_flat_text(now, &len);
        assert_non_null(text);
        control_node_dynamic_lines(plan, &lines);
        rc = conf_load_again(text, len, now->path, str_cstr(&lines), CONF_FULL, NULL, &conf, err);
    }
    if (rc == 0)
        rc = control_node_dynamic_apply(f->control, plan, conf, err);
    control_node_dynamic_free(plan);
    str_done(&lines);
    fixture_turn(f);
    return rc;
}

static bool is_there(struct fixture *f, const char *node)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    return fixture_node(f, &arena, node) != NULL;
}

static void invalid_dynamic_nodes_are_refused(void **state)
{
    static const struct {
        const char *nodes, *create, *says;
    } cases[] = {
        {"d[1-3]", "State=CLOUD", "MaxNodeCount=4"},
        {"n1", "State=CLOUD", "already exists"},
        {"d1,d1", "State=CLOUD", "already exists"},
        {"d[1-", "State=CLOUD", "d[1-"},
        {"", "State=CLOUD", "NodeName="},
        {"d1", "", "State=CLOUD or State=FUTURE"},
        {"d1", "State=IDLE", "State=IDLE"},
        {"d1", "State=CLOUD Prolog=/x", "unknown key Prolog"},
        {"d1", "State=CLOUD NodeName=d2", "NodeName is given twice"},
        {"d1", "State=CLOUD\nNodeName=d2", "control characters"},
        {"d1", "State=CLOUD Comment=a\\", "control characters"},
        {"d1", "State=CLOUD Comment=\"a # b\"", "control characters"},
        {"d1", "State=CLOUD CPUs=0", "CPUs=0"},
        {"d[1-2]", "State=CLOUD Port=[1-3]", "3 entries for 2 nodes"},
        {"DEFAULT", "State=CLOUD", "reserved"},
        {"d9", NULL, "d9"},
        {"n1", NULL, "slurm.conf"},
        {"n[1-2],d9", NULL, "slurm.conf"},
    };
    struct fixture *f = fixture_new(LINES);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        if (!request_nodes(f, cases[i].nodes, cases[i].create, &err) ||
            !strstr(err.text, cases[i].says))
            fail_msg("case %zu: '%s'", i, err.text);
    }
    assert_int_equal(request_nodes(f, "n1", "State=CLOUD", NULL), -ERR_NODE_EXISTS);
    assert_false(is_there(f, "d1"));
    fixture_free(f);
}

/* An invalid line is left out entirely: the other lines of the plan are kept. */
static void refused_changes_keep_the_plan(void **state)
{
    struct fixture *f = fixture_new(LINES);
    struct node_dynamic_plan *plan = control_node_dynamic_begin(f->control);
    Pb__NodeUpdate good = PB__NODE_UPDATE__INIT, bad = PB__NODE_UPDATE__INIT;
    struct str lines = STR_INIT;
    (void)state;
    good.nodes = (char *)"d[1-2]";
    good.create = (char *)"State=FUTURE Port=[7001-7002]";
    bad.nodes = (char *)"e1,d2";
    bad.create = (char *)"State=CLOUD";
    assert_int_equal(control_node_dynamic_add(f->control, plan, &good, false, NULL), 0);
    assert_true(control_node_dynamic_add(f->control, plan, &bad, false, NULL) < 0);
    control_node_dynamic_lines(plan, &lines);
    assert_string_equal(str_cstr(&lines), "NodeName=d1 State=FUTURE Port=7001\n"
                                          "NodeName=d2 State=FUTURE Port=7002\n");
    control_node_dynamic_free(plan);
    str_done(&lines);
    fixture_free(f);
}

static void jobs_continue_when_nodes_are_added(void **state)
{
    struct fixture *f = fixture_new(LINES);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec on_d1 = PB__JOB_SPEC__INIT;
    struct err err = {0};
    (void)state;
    fixture_register(f, "n1", "i");
    int64_t first = fixture_submit(f, &user, NULL);
    assert_int_equal(fixture_state(f, (uint32_t)first), PB__JOB_STATE__RUNNING);
    assert_int_equal(
        request_nodes(f, "d[1-2]", "State=CLOUD CPUs=4 RealMemory=4000 Feature=fast", &err), 0);
    assert_int_equal(fixture_terminates(f, "n1", (uint32_t)first), 0);
    on_d1.req_nodes = (char *)"d1";
    on_d1.partition = (char *)"b";
    int64_t second = fixture_submit(f, &user, &on_d1);
    assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__PENDING);
    fixture_register(f, "d1", "i");
    fixture_turn(f);
    assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__RUNNING);
    assert_true(request_nodes(f, "d[1-2]", NULL, &err) == -ERR_NODES_BUSY);
    assert_int_equal(request_nodes(f, "d2", NULL, &err), 0);
    assert_false(is_there(f, "d2"));
    assert_int_equal(fixture_state(f, (uint32_t)first), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void nodes_that_stay_in_a_ring_keep_their_order(void **state)
{
    struct fixture *f = fixture_new(
        LINES "\nTopologyPlugin=topology/ring\nTopologyConf=1 RingName=r1 Nodes=n[1-2]\n");
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    (void)state;
    arena_init(&arena, 0);
    assert_int_equal(request_nodes(f, "d1", "State=CLOUD Topology=default:r1:0", &err), 0);
    assert_int_equal(request_nodes(f, "d2", "State=CLOUD Topology=default:r1:1", &err), 0);
    fixture_expect_unit(f, "r1", "d[1-2],n[1-2] RingSize=4\n");
    assert_int_equal(request_nodes(f, "d1", NULL, &err), 0);
    fixture_expect_unit(f, "r1", "d2,n[1-2] RingSize=3\n");
    assert_int_equal(request_nodes(f, "d3", "State=CLOUD Topology=default:r1:0", &err), 0);
    fixture_expect_unit(f, "r1", "d[3,2],n[1-2] RingSize=4\n");
    assert_string_equal(fixture_node(f, &arena, "d2")->topology, "default:r1:1");
    assert_int_equal(request_nodes(f, "d[2-3]", NULL, &err), 0);
    fixture_expect_unit(f, "r1", "n[1-2] RingSize=2\n");
    fixture_free(f);
}

/* The plan was made before a job got the node. */
static void plan_is_refused_if_its_node_got_a_job(void **state)
{
    struct fixture *f = fixture_new(LINES);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec on_d1 = PB__JOB_SPEC__INIT;
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    struct conf *conf = NULL;
    struct err err = {0};
    size_t len;
    (void)state;
    assert_int_equal(request_nodes(f, "d1", "State=CLOUD", &err), 0);
    fixture_register(f, "d1", "i");
    struct node_dynamic_plan *plan = control_node_dynamic_begin(f->control);
    r.nodes = (char *)"d1";
    assert_int_equal(control_node_dynamic_add(f->control, plan, &r, false, &err), 0);
    on_d1.req_nodes = (char *)"d1";
    int64_t id = fixture_submit(f, &user, &on_d1);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    const char *text = conf_flat_text(control_conf(f->control), &len);
    assert_int_equal(conf_load_again(text, len, "t", "", CONF_FULL, NULL, &conf, &err), 0);
    assert_int_equal(control_node_dynamic_apply(f->control, plan, conf, &err), -ERR_NODES_BUSY);
    control_node_dynamic_free(plan);
    assert_true(is_there(f, "d1"));
    fixture_free(f);
}

static void unresponsive_node_stays_so_when_nodes_are_added(void **state)
{
    struct fixture *f = fixture_new(LINES "\nSlurmdTimeout=10");
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    (void)state;
    arena_init(&arena, 0);
    fixture_register(f, "n1", "i");
    for (int i = 0; i < 4; i++) {
        fixture_pass(f, 3000);
        request_nodes(f, "d1", i % 2 ? NULL : "State=CLOUD", &err);
    }
    fixture_pass(f, 1);
    assert_int_equal(fixture_node(f, &arena, "n1")->state, PB__NODE_BASE__NODE_DOWN);
    assert_false(is_there(f, "d1"));
    assert_int_equal(request_nodes(f, "d1", "State=CLOUD", &err), 0);
    fixture_pass(f, 60000); /* it is not started yet: it is not awaited */
    assert_int_equal(fixture_node(f, &arena, "d1")->state, PB__NODE_BASE__NODE_UNKNOWN);
    fixture_free(f);
}

/* Bytes that are not a record are reported. */
static void damaged_record_is_reported(void **state)
{
    struct str lines = STR_INIT;
    struct err err = {0};
    (void)state;
    assert_int_equal(control_node_dynamic_stored("\x0a\x7f", 2, &lines, &err), -ERR_STORE_DAMAGED);
    assert_int_equal(lines.len, 0);
    assert_int_equal(control_node_dynamic_stored(NULL, 0, &lines, &err), 0);
    str_done(&lines);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_dynamic_nodes_are_refused),
        cmocka_unit_test(refused_changes_keep_the_plan),
        cmocka_unit_test(jobs_continue_when_nodes_are_added),
        cmocka_unit_test(nodes_that_stay_in_a_ring_keep_their_order),
        cmocka_unit_test(plan_is_refused_if_its_node_got_a_job),
        cmocka_unit_test(unresponsive_node_stays_so_when_nodes_are_added),
        cmocka_unit_test(damaged_record_is_reported),
    };
    return cmocka_run_group_tests_name("node_dynamic", tests, NULL, NULL);
}
