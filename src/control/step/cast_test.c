/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credentials for files: access, nodes, and the end of the job. */
#include <string.h>

#include "base/step_id.h"
#include "cluster/job/job.h"
#include "control/fixture.h"
#include "proto/cast.pb-c.h"

#define CONF                                                                                       \
    "NodeName=n[1-3] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 3);
}

/* Starts a batch job on all nodes. */
static uint32_t start_job(struct fixture *f)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.has_min_nodes = s.has_num_tasks = true;
    s.min_nodes = 3;
    s.num_tasks = 12;
    int64_t id = fixture_submit(f, &FIXTURE_USER, &s);
    assert_true(id > 0);
    if (fixture_state(f, (uint32_t)id) == PB__JOB_STATE__RUNNING)
        fixture_launched(f, "n1", (uint32_t)id, 0);
    return (uint32_t)id;
}

static int ask_cast(struct fixture *f, const struct caller *who, uint32_t job, int64_t step,
                    const char *tasks)
{
    Pb__CastAsk r = PB__CAST_ASK__INIT;
    Pb__StepId id = PB__STEP_ID__INIT;

    id.job_id = job;
    id.has_step_id = step >= 0;
    id.step_id = (uint32_t)step;
    id.array_tasks = (char *)tasks;
    r.id = &id;
    control_cast_ask(f->control, ++f->last_call, who, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static const Pb__CastGrant *get_grant(struct fixture *f, struct arena *arena)
{
    vec_foreach (&f->replies, r)
        if (r->call == f->last_call)
            return arena_unpack(arena, &pb__cast_grant__descriptor, r->data.data, r->data.len);
    return NULL;
}

static void only_owner_and_operators_may_cast(void **state)
{
    struct fixture *f = make_fixture();
    const struct caller operator= {.uid = 7, .is_operator = true, .user_name = "op"};
    uint32_t id = start_job(f), waits = start_job(f);
    (void)state;

    assert_int_equal(ask_cast(f, &FIXTURE_USER, id, -1, NULL), 0);
    assert_int_equal(ask_cast(f, &FIXTURE_ROOT, id, -1, NULL), 0);
    assert_int_equal(ask_cast(f, &FIXTURE_OTHER, id, -1, NULL), ERR_ACCESS);
    /* The files would be written as the owner. */
    assert_int_equal(ask_cast(f, &operator, id, -1, NULL), ERR_ACCESS);
    assert_int_equal(ask_cast(f, &FIXTURE_USER, 4711, -1, NULL), ERR_NO_JOB);
    assert_int_equal(ask_cast(f, &FIXTURE_USER, waits, -1, NULL), ERR_JOB_PENDING);
    assert_int_equal(ask_cast(f, &FIXTURE_USER, id, 9, NULL), ERR_NO_STEP);
    assert_int_equal(ask_cast(f, &FIXTURE_USER, id, -1, "1-3"), ERR_NO_JOB);
    assert_int_equal(ask_cast(f, &FIXTURE_USER, id, -1, "1"), ERR_NO_JOB);
    fixture_batch_ended(f, "n1", id, 0, 0);
    assert_int_equal(ask_cast(f, &FIXTURE_USER, id, -1, NULL), ERR_JOB_DONE);
    fixture_free(f);
}

static void grant_names_nodes_and_credential(void **state)
{
    struct fixture *f = make_fixture();
    uint32_t id = start_job(f);
    _cleanup_arena_ struct arena arena;
    const Pb__CastGrant *g;
    const Pb__Cred *cred;
    (void)state;

    arena_init(&arena, 0);
    assert_int_equal(ask_cast(f, &FIXTURE_ROOT, id, -1, NULL), 0);
    g = get_grant(f, &arena);
    assert_int_equal(g->n_nodes, 3);
    assert_string_equal(g->nodes[2]->node, "n3");
    cred = arena_unpack(&arena, &pb__cred__descriptor, g->cred.data, g->cred.len);
    assert_true(cred->cast);
    assert_int_equal(cred->uid, 1000); /* the owner, whoever requests it */
    assert_int_equal(cred->n_nodes, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cred->nodes[i]->n_task_ids, 0); /* it starts nothing */
        assert_true(cred->nodes[i]->has_incarnation);
    }
    assert_true(cred->expires_at_ms > cred->issued_at_ms);
    /* Only the node of the script. */
    assert_int_equal(ask_cast(f, &FIXTURE_USER, id, STEP_ID_BATCH, NULL), 0);
    g = get_grant(f, &arena);
    assert_int_equal(g->n_nodes, 1);
    assert_string_equal(g->nodes[0]->node, "n1");
    fixture_free(f);
}

/* HET-58, HET-59: for the leader the nodes of all components, each once; for a component its own
 * nodes. */
static void grant_for_a_set_covers_all_components(void **state)
{
    struct fixture *f = make_fixture();
    Pb__JobSpec specs[3];
    _cleanup_arena_ struct arena arena;
    (void)state;

    arena_init(&arena, 0);
    for (size_t i = 0; i < 3; i++) {
        pb__job_spec__init(&specs[i]);
        specs[i].has_min_nodes = specs[i].has_num_tasks = true;
        specs[i].min_nodes = specs[i].num_tasks = 1;
        specs[i].req_nodes = i == 1 ? "n2" : "n1";
    }
    uint32_t id = (uint32_t)fixture_submit_set(f, &FIXTURE_USER, specs, 3);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    assert_int_equal(ask_cast(f, &FIXTURE_USER, id, -1, NULL), 0);
    const Pb__CastGrant *g = get_grant(f, &arena);
    assert_int_equal(g->n_nodes, 2);
    assert_string_equal(g->nodes[0]->node, "n1");
    assert_string_equal(g->nodes[1]->node, "n2");
    const Pb__Cred *cred = arena_unpack(&arena, &pb__cred__descriptor, g->cred.data, g->cred.len);
    assert_true(cred->n_parts == 3 && cred->nodes[1]->part == 1 && cred->cast);
    assert_int_equal(cred->parts[1]->job_id, id + 1);
    static const struct {
        int64_t offset, step;
        bool by_sbcast;
        int code;
        const char *node;
    } tries[] = {{1, -1, false, 0, "n2"},           {2, -1, false, 0, "n1"},
                 {3, -1, false, ERR_NO_JOB, NULL},  {-1, 1, true, 0, "n2"},
                 {-1, 1, false, ERR_NO_STEP, NULL}, /* srun: no component has a step 1 */
                 {-1, 3, true, ERR_NO_STEP, NULL}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        Pb__CastAsk r = PB__CAST_ASK__INIT;
        Pb__StepId which = PB__STEP_ID__INIT;
        which.job_id = id;
        which.has_set_offset = tries[i].offset >= 0;
        which.set_offset = (uint32_t)tries[i].offset;
        which.has_step_id = tries[i].step >= 0;
        which.step_id = (uint32_t)tries[i].step;
        r.id = &which;
        r.has_or_component = r.or_component = tries[i].by_sbcast;
        control_cast_ask(f->control, ++f->last_call, &FIXTURE_USER, &r);
        fixture_turn(f);
        assert_int_equal(fixture_code(f, f->last_call), tries[i].code);
        if (tries[i].code)
            continue;
        g = get_grant(f, &arena);
        assert_int_equal(g->n_nodes, 1);
        assert_string_equal(g->nodes[0]->node, tries[i].node);
    }
    fixture_free(f);
}

/* Files may be on these nodes: only then they get the order about the end. */
static void nodes_with_cast_files_are_told_the_end(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;

    for (int asked = 0; asked < 2; asked++) {
        uint32_t id = start_job(f);

        if (asked)
            assert_int_equal(ask_cast(f, &FIXTURE_USER, id, -1, NULL), 0);
        fixture_clear(f);
        fixture_batch_ended(f, "n1", id, 0, 0);
        assert_int_equal(fixture_terminates(f, "n2", id) > 0, asked);
        assert_int_equal(fixture_terminates(f, "n3", id) > 0, asked);
        fixture_gone(f, "n1", id, 0);
        if (asked) {
            fixture_gone(f, "n2", id, 0);
            fixture_gone(f, "n3", id, 0);
        }
    }
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_owner_and_operators_may_cast),
        cmocka_unit_test(grant_names_nodes_and_credential),
        cmocka_unit_test(grant_for_a_set_covers_all_components),
        cmocka_unit_test(nodes_with_cast_files_are_told_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
