/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A running job releases nodes: its steps there, a disconnected node, restart. */
#include "control/fixture.h"

#define CONF                                                                                       \
    "NodeName=n[1-3] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nSlurmdTimeout=0\n"

static int64_t start_job(struct fixture *f)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = s.has_exclusive = s.exclusive = true;
    s.min_nodes = s.max_nodes = 3;
    int64_t id = fixture_submit(f, &FIXTURE_USER, &s);
    assert_true(id > 0);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    return id;
}

static int keep(struct fixture *f, int64_t id, const char *nodes)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    r.keep_nodes = (char *)nodes;
    return fixture_update_job(f, &FIXTURE_USER, &r);
}

static const char *get_nodes(struct fixture *f, struct arena *arena, int64_t id)
{
    return fixture_job(f, arena, (uint32_t)id)->live->nodes;
}

static void test_released_node_is_free_after_it_ended_its_part(void **state)
{
    struct fixture *f = fixture_new(CONF);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    for (const char *n = "123"; *n; n++)
        fixture_register(f, (char[]){'n', *n, 0}, "i1");
    int64_t id = start_job(f);
    assert_int_equal(keep(f, id, "n[1,3]"), 0);
    assert_string_equal(get_nodes(f, &arena, id), "n[1,3]");
    assert_int_equal(fixture_terminates(f, "n2", (uint32_t)id), 1);
    assert_int_equal(fixture_terminates(f, "n3", (uint32_t)id), 0);
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.req_nodes = (char *)"n2";
    int64_t other = fixture_submit(f, &FIXTURE_USER, &s);
    assert_int_equal(fixture_state(f, (uint32_t)other), PB__JOB_STATE__PENDING);
    fixture_restart(f);
    assert_string_equal(get_nodes(f, &arena, id), "n[1,3]");
    assert_int_equal(fixture_state(f, (uint32_t)other), PB__JOB_STATE__PENDING);
    fixture_register(f, "n2", "i1"); /* the order is repeated */
    assert_int_equal(fixture_terminates(f, "n2", (uint32_t)id), 1);
    fixture_gone(f, "n2", (uint32_t)id, 0);
    assert_int_equal(fixture_state(f, (uint32_t)other), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void test_shrink_request_is_checked_before_any_change(void **state)
{
    struct fixture *f = fixture_new(CONF);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    for (const char *n = "123"; *n; n++)
        fixture_register(f, (char[]){'n', *n, 0}, "i1");
    int64_t id = start_job(f);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = (uint32_t)id;
    r.set = &set;
    set.partition = (char *)"a"; /* cannot be changed for a running job */
    set.has_min_nodes = true;
    set.min_nodes = 1;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), ERR_NOT_PENDING);
    assert_string_equal(get_nodes(f, &arena, id), "n[1-3]");
    set.partition = NULL;
    r.keep_nodes = (char *)"n2,n3"; /* the list counts, and lacks the script's node */
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), ERR_CANNOT_UPDATE);
    assert_string_equal(get_nodes(f, &arena, id), "n[1-3]");
    r.keep_nodes = NULL;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    assert_string_equal(get_nodes(f, &arena, id), "n1");
    assert_int_equal(fixture_job(f, &arena, (uint32_t)id)->spec->min_nodes, 3);
    fixture_free(f);
}

static uint64_t ask_step(struct fixture *f, int64_t id, const char *nodes, uint32_t min_nodes)
{
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    s.has_job_id = s.has_num_tasks = s.has_cpus_per_task = s.has_min_nodes = true;
    s.job_id = (uint32_t)id;
    s.num_tasks = s.min_nodes = min_nodes;
    s.cpus_per_task = 4;
    s.nodes = (char *)nodes;
    control_step_create(f->control, ++f->last_call, &FIXTURE_USER, &s);
    fixture_turn(f);
    return f->last_call;
}

static const char *get_step_node(struct fixture *f, struct arena *arena, uint64_t call)
{
    assert_int_equal(fixture_code(f, call), 0);
    vec_foreach (&f->replies, r)
        if (r->call == call) {
            const Pb__StepReply *m =
                arena_unpack(arena, &pb__step_reply__descriptor, r->data.data, r->data.len);
            return m->layout[0]->node;
        }
    return NULL;
}

static void test_no_step_starts_on_a_node_being_released(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 3);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t id = start_job(f);
    for (const char *n = "123"; *n; n++)
        assert_int_equal(fixture_code(f, ask_step(f, id, (char[]){'n', *n, 0}, 1)), 0);
    uint64_t anywhere = ask_step(f, id, NULL, 1), there = ask_step(f, id, "n3", 1),
             everywhere = ask_step(f, id, NULL, 3);
    assert_int_equal(keep(f, id, "n[1-2]"), 0);
    assert_int_equal(fixture_code(f, anywhere), -1); /* it still waits */
    assert_int_equal(fixture_code(f, there), ERR_STEP_CONFIG);
    assert_int_equal(fixture_code(f, everywhere), ERR_NODE_COUNT);
    fixture_step_ended(f, "n2", (uint32_t)id, 1, 0);
    assert_string_equal(get_step_node(f, &arena, anywhere), "n2");
    fixture_free(f);
}

/* The request is repeated after the node was released: the reply names the node, and the credential
 * does not permit a start there. */
static void test_repeated_request_starts_nothing_on_a_node_given_back(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 3);
    _cleanup_arena_ struct arena arena;
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    uint8_t key[16] = {1, 2, 3};
    (void)state;
    arena_init(&arena, 0);
    int64_t id = start_job(f);
    s.job_id = (uint32_t)id;
    s.has_job_id = s.has_request_id = s.has_min_nodes = s.has_num_tasks = true;
    s.request_id = (ProtobufCBinaryData){sizeof key, key};
    s.min_nodes = s.num_tasks = 3;
    control_step_create(f->control, ++f->last_call, &FIXTURE_USER, &s);
    fixture_turn(f);
    assert_int_equal(keep(f, id, "n[1-2]"), 0);
    control_step_create(f->control, ++f->last_call, &FIXTURE_USER, &s);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    vec_foreach (&f->replies, r) {
        if (r->call != f->last_call)
            continue;
        const Pb__StepReply *m =
            arena_unpack(&arena, &pb__step_reply__descriptor, r->data.data, r->data.len);
        const Pb__Cred *cred =
            arena_unpack(&arena, &pb__cred__descriptor, m->cred.data, m->cred.len);
        assert_int_equal(cred->n_nodes, 2);
        assert_string_equal(cred->nodes[1]->node, "n2");
    }
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_released_node_is_free_after_it_ended_its_part),
        cmocka_unit_test(test_shrink_request_is_checked_before_any_change),
        cmocka_unit_test(test_no_step_starts_on_a_node_being_released),
        cmocka_unit_test(test_repeated_request_starts_nothing_on_a_node_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
