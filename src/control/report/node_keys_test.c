/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update NodeName=: addresses, and ResumeAfter. */
#include <string.h>

#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nNodeName=n[1-3] CPUs=4\n"                                       \
    "PartitionName=a Nodes=ALL Default=YES\n"

struct keys {
    const char *nodes, *addr, *hostname, *state;
    int64_t resume_after_sec; /* 0: not given */
};

static int update_node(struct fixture *f, const struct keys *k)
{
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    r.nodes = (char *)k->nodes;
    r.addr = (char *)k->addr;
    r.hostname = (char *)k->hostname;
    r.state = (char *)k->state;
    r.reason = k->state ? (char *)"test" : NULL;
    r.has_resume_after_sec = k->resume_after_sec != 0;
    r.resume_after_sec = k->resume_after_sec;
    control_node_update(f->control, ++f->last_call, &FIXTURE_ROOT, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void check_addresses(struct fixture *f, const char *const addr[3], const char *hostname)
{
    static const char *const names[] = {"n1", "n2", "n3"};
    struct arena arena;
    arena_init(&arena, 0);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(fixture_node(f, &arena, names[i])->addr, addr[i]);
        assert_string_equal(control_node_addr(f->control, names[i]), addr[i]);
    }
    assert_string_equal(fixture_node(f, &arena, "n2")->hostname, hostname);
    arena_done(&arena);
}

static void address_holds_at_once_and_across_a_restart(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 3);
    static const char *const set[] = {"10.0.0.7", "e2", "e1"};
    static const char *const back[] = {"10.0.0.7", "n2", "e1"};
    (void)state;
    assert_int_equal(update_node(f, &(struct keys){"n[3,2]", "e[1-2]", "h[1-2]", NULL, 0}), 0);
    assert_int_equal(update_node(f, &(struct keys){"n1", "10.0.0.7", NULL, NULL, 0}), 0);
    check_addresses(f, set, "h2");
    fixture_restart(f);
    check_addresses(f, set, "h2");
    fixture_reconfigure(f, CONF "\n");
    check_addresses(f, set, "h2");
    /* The value of slurm.conf. */
    assert_int_equal(update_node(f, &(struct keys){"n2", "", "", NULL, 0}), 0);
    check_addresses(f, back, "n2");
    fixture_free(f);
}

static void wrong_address_changes_nothing(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 3);
    static const char *const own[] = {"n1", "n2", "n3"};
    static const struct keys rows[] = {
        {"n[1-2]", "e1", NULL, NULL, 0},        {"n[1-2]", "e[1-3]", NULL, NULL, 0},
        {"n[1-2]", "e[1-2]", "h1", NULL, 0},    {"n1", "a b", NULL, NULL, 0},
        {"n1", "a\nNodeName=x", NULL, NULL, 0}, {"n1", "a\"b", NULL, NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_not_equal(update_node(f, &rows[i]), 0);
        check_addresses(f, own, "n2");
    }
    fixture_free(f);
}

/* A launch is sent to the present address of the node. */
static void step_is_launched_at_the_new_address(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 3);
    struct caller user = FIXTURE_USER;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    struct arena arena;
    (void)state;
    arena_init(&arena, 0);
    assert_int_equal(update_node(f, &(struct keys){"n2", "new", NULL, NULL, 0}), 0);
    spec.has_num_tasks = step.has_num_tasks = true;
    spec.num_tasks = step.num_tasks = 1;
    spec.req_nodes = (char *)"n2";
    r.spec = &spec;
    r.step = &step;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    const struct fixture_reply *got = &vec_last(&f->replies);
    const Pb__AllocReply *reply =
        arena_unpack(&arena, &pb__alloc_reply__descriptor, got->data.data, got->data.len);
    assert_string_equal(reply->step->layout[0]->addr, "new");
    assert_string_equal(reply->addrs[0]->addr, "new");
    arena_done(&arena);
    fixture_free(f);
}

static bool is_out(struct fixture *f, const char *name)
{
    struct arena arena;
    arena_init(&arena, 0);
    const Pb__NodeRecord *n = fixture_node(f, &arena, name);
    bool out = (n->has_drain && n->drain) || n->state == PB__NODE_BASE__NODE_DOWN;
    arena_done(&arena);
    return out;
}

static void node_is_resumed_after_resume_after(void **state)
{
    static const char *const states[] = {"DRAIN", "DOWN"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct fixture *f = fixture_new_up(CONF, 3);
        assert_int_equal(update_node(f, &(struct keys){"n1", NULL, NULL, states[i % 2], 100}), 0);
        assert_int_equal(update_node(f, &(struct keys){"n2", NULL, NULL, states[i % 2], 0}), 0);
        assert_int_equal(update_node(f, &(struct keys){"n3", NULL, NULL, states[i % 2], 100}), 0);
        assert_int_equal(update_node(f, &(struct keys){"n3", NULL, NULL, NULL, -1}), 0);
        fixture_pass(f, 50000);
        if (i >= 2)
            fixture_restart(f);
        fixture_pass(f, 45000);
        assert_true(is_out(f, "n1"));
        fixture_pass(f, 10000);
        assert_false(is_out(f, "n1"));
        assert_true(is_out(f, "n2"));
        assert_true(is_out(f, "n3"));
        fixture_free(f);
    }
}

static void resume_after_is_for_nodes_out_of_service(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 3);
    (void)state;
    assert_int_equal(update_node(f, &(struct keys){"n1", NULL, NULL, NULL, 100}), ERR_PARSE);
    assert_int_equal(update_node(f, &(struct keys){"n1", NULL, NULL, "DRAIN", -2}), ERR_PARSE);
    assert_false(is_out(f, "n1"));
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_holds_at_once_and_across_a_restart),
        cmocka_unit_test(wrong_address_changes_nothing),
        cmocka_unit_test(step_is_launched_at_the_new_address),
        cmocka_unit_test(node_is_resumed_after_resume_after),
        cmocka_unit_test(resume_after_is_for_nodes_out_of_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
