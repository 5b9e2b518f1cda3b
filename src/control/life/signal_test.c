/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals while some nodes are disconnected: the reply names these nodes. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nNodeName=n[1-3] CPUs=2\n"                      \
    "PartitionName=a Nodes=ALL Default=YES\n"

/* An srun has job 1 and step 1.0 on this number of nodes, and they run. */
static struct fixture *make_fixture(const char *lines, unsigned nodes)
{
    struct fixture *f = fixture_new_up(lines, nodes);
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    spec.has_min_nodes = spec.has_num_tasks = step.has_num_tasks = true;
    spec.min_nodes = spec.num_tasks = step.num_tasks = nodes;
    r.spec = &spec;
    r.step = &step;
    control_alloc(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    return f;
}

static void disconnect_node(struct fixture *f, const char *node)
{
    control_node_lost(f->control, node);
    fixture_turn(f);
}

/* Returns the nodes that were not reached, from the reply; "" none. */
static const char *signal_and_get_missed(struct fixture *f, bool step, int signal, int *code)
{
    static char text[2048];
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets = &target;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    target.job_id = 1;
    target.has_step_id = step;
    r.target = &targets;
    r.n_target = 1;
    r.has_signal = true;
    r.signal = signal;
    control_job_signal(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    vec_foreach (&f->replies, reply) {
        if (reply->call != f->last_call)
            continue;
        const Pb__JobSignalReply *m = arena_unpack(&arena, &pb__job_signal_reply__descriptor,
                                                   reply->data.data, reply->data.len);
        *code = m->results[0]->code;
        snprintf(text, sizeof text, "%s", m->results[0]->unreached ? m->results[0]->unreached : "");
        return text;
    }
    fail_msg("no reply");
    return NULL;
}

static void disconnected_nodes_are_named(void **state)
{
    for (unsigned step = 0; step < 2; step++) {
        struct fixture *f = make_fixture(CONF, 3);
        int code = -1;
        assert_string_equal(signal_and_get_missed(f, step, SIGUSR1, &code), "");
        assert_int_equal(code, 0);
        disconnect_node(f, "n2");
        assert_string_equal(signal_and_get_missed(f, step, SIGUSR1, &code), "n2");
        assert_int_equal(code, 0); /* the other nodes have it */
        disconnect_node(f, "n3");
        assert_string_equal(signal_and_get_missed(f, step, SIGUSR1, &code), "n[2-3]");
        assert_int_equal(code, 0);
        disconnect_node(f, "n1");
        assert_string_equal(signal_and_get_missed(f, step, SIGUSR1, &code), "n[1-3]");
        assert_int_equal(code, ERR_NODES_DOWN);
        fixture_register(f, "n1", "i1");
        assert_string_equal(signal_and_get_missed(f, step, SIGUSR1, &code), "n[2-3]");
        assert_string_equal(signal_and_get_missed(f, step, SIGKILL, &code),
                            ""); /* an end is kept and repeated */
        assert_int_equal(code, 0);
        fixture_free(f);
    }
}

static void node_where_the_step_has_ended_is_not_named(void **state)
{
    struct fixture *f = make_fixture(CONF, 3);
    int code = -1;
    fixture_step_ended(f, "n2", 1, 0, 0);
    disconnect_node(f, "n2");
    assert_string_equal(signal_and_get_missed(f, true, SIGUSR1, &code), "");
    assert_int_equal(code, 0);
    disconnect_node(f, "n1");
    assert_string_equal(signal_and_get_missed(f, true, SIGUSR1, &code), "n1");
    fixture_free(f);
}

/* Many nodes whose names have nothing in common are counted. */
static void long_list_of_nodes_is_cut(void **state)
{
    _cleanup_str_ struct str lines = STR_INIT;
    str_puts(&lines, "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nPartitionName=a Nodes=ALL "
                     "Default=YES\n");
    for (unsigned i = 1; i <= 3; i++)
        str_printf(&lines, "NodeName=n%u CPUs=2\n", i);
    for (unsigned i = 0; i < 200; i++)
        str_printf(&lines, "NodeName=%c%clonger%c CPUs=2\n", 'a' + i % 26, 'a' + i / 26,
                   'a' + i % 7);
    struct fixture *f = fixture_new(str_cstr(&lines));
    struct hostlist *all = hostlist_new();
    int code = -1;
    for (unsigned i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "%c%clonger%c", 'a' + i % 26, 'a' + i / 26, 'a' + i % 7);
        fixture_register(f, name, "i1");
        hostlist_push(all, name);
    }
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.has_min_nodes = true;
    spec.min_nodes = 200;
    r.spec = &spec;
    control_alloc(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    for (unsigned i = 0; i < 200; i++) {
        char name[HOSTLIST_NAME_MAX + 1];
        control_node_lost(f->control, hostlist_nth(all, i, name));
    }
    fixture_turn(f);
    assert_string_equal(signal_and_get_missed(f, false, SIGUSR1, &code), "200 nodes");
    assert_int_equal(code, ERR_NODES_DOWN);
    hostlist_free(all);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disconnected_nodes_are_named),
        cmocka_unit_test(node_where_the_step_has_ended_is_not_named),
        cmocka_unit_test(long_list_of_nodes_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
