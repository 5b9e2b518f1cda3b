/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps without an allocation: access, credentials, and that no record is kept. */
#include <string.h>

#include "base/step_id.h"
#include "control/fixture.h"
#include "proto/cast.pb-c.h"

#define CONF                                                                                       \
    "NodeName=n[1-3] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"

static int ask_unallocated(struct fixture *f, const struct caller *who, const char *nodes,
                           uint32_t tasks, const char *distribution, const char *gres)
{
    Pb__Unallocated r = PB__UNALLOCATED__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;

    step.nodes = (char *)nodes;
    step.has_num_tasks = tasks > 0;
    step.num_tasks = tasks;
    step.distribution = (char *)distribution;
    step.gres = (char *)gres;
    step.name = (char *)"probe";
    r.step = &step;
    control_step_unallocated(f->control, ++f->last_call, who, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static const Pb__StepReply *get_grant(struct fixture *f, struct arena *arena, const Pb__Cred **cred)
{
    vec_foreach (&f->replies, r)
        if (r->call == f->last_call) {
            const Pb__StepReply *m =
                arena_unpack(arena, &pb__step_reply__descriptor, r->data.data, r->data.len);
            *cred = arena_unpack(arena, &pb__cred__descriptor, m->cred.data, m->cred.len);
            return m;
        }
    return NULL;
}

static void only_administrators_run_unallocated_steps(void **state)
{
    struct fixture *f = fixture_new(CONF);
    (void)state;
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    assert_int_equal(ask_unallocated(f, &FIXTURE_USER, "n1", 1, NULL, NULL), ERR_ACCESS);
    const struct caller operator= {.uid = 7, .is_operator = true, .user_name = "op"};
    assert_int_equal(ask_unallocated(f, &operator, "n1", 1, NULL, NULL), ERR_ACCESS);
    assert_int_equal(ask_unallocated(f, &FIXTURE_ROOT, NULL, 1, NULL, NULL), ERR_NO_NODE);
    assert_int_equal(ask_unallocated(f, &FIXTURE_ROOT, "nx", 1, NULL, NULL), ERR_NO_NODE);
    assert_int_equal(ask_unallocated(f, &FIXTURE_ROOT, "n3", 1, NULL, NULL), ERR_NODES_DOWN);
    assert_int_equal(ask_unallocated(f, &FIXTURE_ROOT, "n1", 1, NULL, "gpu:1"), ERR_STEP_CONFIG);
    assert_int_equal(ask_unallocated(f, &FIXTURE_ROOT, "n1", 1, "nonsense", NULL), ERR_STEP_CONFIG);
    assert_int_equal(ask_unallocated(f, &FIXTURE_ROOT, "n1", 1, NULL, NULL), 0);
    fixture_free(f);
}

static void grant_names_nodes_and_credential(void **state)
{
    struct fixture *f = fixture_new(CONF);
    _cleanup_arena_ struct arena arena;
    const Pb__Cred *cred;
    (void)state;
    arena_init(&arena, 0);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    uint32_t jobs = control_next_job_id(f->control);
    assert_int_equal(ask_unallocated(f, &FIXTURE_ROOT, "n[1-2]", 11, "cyclic", NULL), 0);
    const Pb__StepReply *m = get_grant(f, &arena, &cred);
    assert_true(m->job_id >= JOB_ID_UNALLOCATED && m->step_id == 0 && m->n_layout == 2);
    assert_int_equal(m->layout[0]->n_task_ids, 6); /* regardless of the number of CPUs */
    assert_int_equal(m->layout[0]->task_ids[1], 2);
    assert_true(cred->unallocated && cred->job_id == m->job_id && cred->restarts == m->restarts);
    assert_true(cred->uid == 0 && cred->n_job_nodes == 2 && cred->job_nodes[1]->cpus == 4);
    assert_int_equal(cred->job_nodes[0]->mem_mib, 4000);
    uint32_t first = m->job_id;
    assert_int_equal(ask_unallocated(f, &FIXTURE_ROOT, "n1", 0, NULL, NULL), 0);
    m = get_grant(f, &arena, &cred);
    assert_true(m->job_id != first && m->n_layout == 1 && m->num_tasks == 1);
    assert_int_equal(control_next_job_id(f->control), jobs); /* and no record was created */
    vec_foreach (&f->records, r)
        assert_true(r->kind != RECORD_JOB);
    fixture_free(f);
}

/* A node that registers with such a step keeps it; an unknown job is ended. */
static int request_cast(struct fixture *f, const struct caller *who, const char *nodes)
{
    Pb__CastUnallocated r = PB__CAST_UNALLOCATED__INIT;

    r.nodes = (char *)nodes;
    control_cast_unallocated(f->control, ++f->last_call, who, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void files_go_to_named_nodes_for_administrators(void **state)
{
    struct fixture *f = fixture_new(CONF);
    const struct caller operator= {.uid = 7, .is_operator = true, .user_name = "op"};
    _cleanup_arena_ struct arena arena;
    const Pb__CastGrant *g = NULL;
    (void)state;

    arena_init(&arena, 0);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    assert_int_equal(request_cast(f, &FIXTURE_USER, "n1"), ERR_ACCESS);
    assert_int_equal(request_cast(f, &operator, "n1"), ERR_ACCESS);
    assert_int_equal(request_cast(f, &FIXTURE_ROOT, ""), ERR_NO_NODE);
    assert_int_equal(request_cast(f, &FIXTURE_ROOT, "n1,nx"), ERR_NO_NODE);
    assert_int_equal(request_cast(f, &FIXTURE_ROOT, "n[1-3]"), ERR_NODES_DOWN);
    assert_int_equal(request_cast(f, &FIXTURE_ROOT, "n[1-2]"), 0);
    vec_foreach (&f->replies, r)
        if (r->call == f->last_call)
            g = arena_unpack(&arena, &pb__cast_grant__descriptor, r->data.data, r->data.len);
    assert_int_equal(g->n_nodes, 2);
    assert_string_equal(g->nodes[1]->node, "n2");
    assert_true(g->job_id >= JOB_ID_UNALLOCATED);
    const Pb__Cred *cred = arena_unpack(&arena, &pb__cred__descriptor, g->cred.data, g->cred.len);
    assert_true(cred->cast && cred->unallocated);
    assert_int_equal(cred->uid, 0); /* the caller */
    assert_int_equal(cred->n_nodes, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cred->nodes[i]->n_task_ids, 0); /* it starts nothing */
        assert_true(cred->nodes[i]->has_incarnation);
    }
    fixture_free(f);
}

static void node_keeps_an_unallocated_step(void **state)
{
    struct fixture *f = fixture_new(CONF);
    Pb__Presence has[] = {PB__PRESENCE__INIT, PB__PRESENCE__INIT}, *present[] = {&has[0], &has[1]};
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    size_t ends = 0;
    (void)state;
    fixture_register(f, "n1", "i1");
    has[0].job_id = JOB_ID_UNALLOCATED + 5;
    has[1].job_id = 77;
    r.incarnation = (char *)"i1";
    r.version = (char *)"1";
    r.n_present = 2;
    r.present = present;
    control_node_register(f->control, "n1", &r);
    fixture_turn(f);
    vec_foreach (&f->orders, o)
        for (size_t i = 0; i < (*o)->orders->n_orders; i++)
            if ((*o)->orders->orders[i]->terminate) {
                assert_int_equal((*o)->orders->orders[i]->terminate->job_id, 77);
                ends++;
            }
    assert_true(ends > 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_administrators_run_unallocated_steps),
        cmocka_unit_test(grant_names_nodes_and_credential),
        cmocka_unit_test(files_go_to_named_nodes_for_administrators),
        cmocka_unit_test(node_keeps_an_unallocated_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
